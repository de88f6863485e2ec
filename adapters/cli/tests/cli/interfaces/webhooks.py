"""Verifies webhooks by the library of Standard Webhooks.

Each line of the input is a webhook: the secret, its headers and its body. For each a line has what the library reads, or why it
refuses.
"""

import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    webhook = json.loads(line)
    try:
        read = Webhook(webhook["secret"]).verify(webhook["body"], webhook["headers"])
        print(json.dumps({"read": read}))
    except WebhookVerificationError as error:
        print(json.dumps({"refused": str(error)}))
