"""Those who are called by hooks: webhook_receiver.py HOST PORT CERTIFICATE KEY, within TLS.

What a request to /gone is told is 410. Whoever calls /chat is believed; everybody else only with a signature by the KEY that
`tidings hooks secret` shows, as the library of Standard Webhooks checks it. Who is the first to call a path below /hold-lost or
/hold-taken is kept waiting for ever, with the call not read or read, and the log says `holds`.

Says `ready`, and then for each request that it read a line of JSON: its path, its id, whether it is believed, and what it says.
"""

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

ONE_AT_A_TIME = threading.Lock()


def say(line):
    with ONE_AT_A_TIME:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = None
    held = set()

    def do_POST(self):
        self.hold("/hold-lost/")
        body = self.rfile.read(int(self.headers["content-length"]))
        believed = True
        if self.path != "/chat":
            try:
                Webhook(self.key).verify(body, dict(self.headers))
            except WebhookVerificationError as error:
                believed = False
                say(error)
        call = {"path": self.path, "id": self.headers["webhook-id"], "believed": believed}
        say(json.dumps({**call, "says": json.loads(body)}))
        self.hold("/hold-taken/")
        self.send_response(410 if self.path == "/gone" else 200 if believed else 401)
        self.send_header("content-length", "0")
        self.end_headers()

    def hold(self, beginning):
        if not self.path.startswith(beginning) or self.path in self.held:
            return
        self.held.add(self.path)
        say("holds")
        threading.Event().wait()

    def log_message(self, *_):
        pass


def main():
    host, port, certificate, Receiver.key = sys.argv[1:]
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    say("ready")
    server.serve_forever()


main()
