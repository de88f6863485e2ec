"""Sends a notification by a client that openapi-python-client has generated, and reads its status until it is delivered.

The arguments are the folder of the package `client`, the address of the server and a token.
"""

import json
import sys
import time
from http import HTTPStatus


def main(folder, address, token):
    sys.path.insert(0, folder)
    from client import AuthenticatedClient
    from client.api.notifications import list_messages, send_notification, show_notification
    from client.models import Channel, Content, NewNotification, RecipientType2, Requester, RequesterKind

    body = NewNotification(
        requester=Requester(id="shop", type_=RequesterKind.SERVICE),
        recipients=[RecipientType2(email="ann@example.com")],
        channels=[Channel.EMAIL],
        content=Content(title="Paid", body="Thank you."),
    )
    with AuthenticatedClient(base_url=address, token=token, raise_on_unexpected_status=True) as client:
        sent = send_notification.sync_detailed(client=client, body=body, idempotency_key="order-7")
        again = send_notification.sync_detailed(client=client, body=body, idempotency_key="order-7")
        shown = show_notification.sync(sent.parsed.id, client=client)
        deadline = time.monotonic() + 300
        while (shown.pending or not shown.total) and time.monotonic() < deadline:
            time.sleep(0.05)
            shown = show_notification.sync(sent.parsed.id, client=client)
        page = list_messages.sync(sent.parsed.id, client=client)
        refused = show_notification.sync_detailed("00000000-0000-0000-0000-000000000000", client=client)
    assert (sent.status_code, again.status_code) == (HTTPStatus.CREATED, HTTPStatus.OK), (sent, again)
    print(json.dumps({
        "id": str(sent.parsed.id),
        "same": again.parsed.id == sent.parsed.id,
        "status": shown.status,
        "delivered": shown.delivered,
        "recipients": [message.recipient for message in page.messages],
        "refused": [refused.status_code, refused.parsed.type_],
    }))


main(*sys.argv[1:])
