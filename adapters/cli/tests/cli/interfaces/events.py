"""Reads CloudEvents by the SDK of their specification.

Each line of the input is a message: its headers and its body. For each event a line has its attributes and its data: what JSON
says, or the bytes of everything else.
"""

import json
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_http_event


def shown(event):
    data = event.get_data()
    attributes = {name: str(value) for name, value in event.get_attributes().items()}
    attributes["time"] = event.get_time().isoformat()
    if event.get_datacontenttype() != "application/json":
        data = list(data if isinstance(data, bytes) else data.encode())
    return {"attributes": attributes, "data": data}


for line in sys.stdin:
    message = json.loads(line)
    event = from_http_event(HTTPMessage(message["headers"], message["body"].encode()))
    print(json.dumps(shown(event)))
