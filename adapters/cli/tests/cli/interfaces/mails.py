"""A mail server that answers 521 to a bare CR or a bare LF, in a command or in a mail, and ends the connection.

It prints its port, and then a line for each mail: the text of one that it takes, or the bytes that it refuses.
"""

import asyncio
import email
import email.policy
import json

from aiosmtpd.smtp import SMTP


class Strict(SMTP):
    def connection_made(self, transport):
        self.last = b""
        super().connection_made(transport)

    def data_received(self, data):
        rest = (self.last + data).replace(b"\r\n", b"")
        # A CR at the end of what has come may have its LF in what comes next.
        if b"\n" in rest or b"\r" in rest[:-1]:
            say(refused=data.decode("latin-1"))
            self.transport.write(b"521 5.5.2 a bare CR or a bare LF\r\n")
            self.transport.close()
            return
        self.last = b"\r" if data.endswith(b"\r") else b""
        super().data_received(data)


class Mails:
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.original_content, policy=email.policy.SMTP)
        say(taken=mail.get_body(preferencelist=["plain"]).get_content())
        return "250 taken"


def say(**what):
    print(json.dumps(what), flush=True)


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Strict(Mails(), enable_SMTPUTF8=True, loop=loop), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())
