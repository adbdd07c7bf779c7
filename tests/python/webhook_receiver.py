"""Those who are called by hooks: webhook_receiver.py CERTIFICATE KEY, on a port of its own, within TLS.

What a request to /gone is told is 410. Whoever calls /chat is believed; everybody else only with a signature by the KEY that
`tidings hooks secret` shows, as the library of Standard Webhooks checks it. Prints `ready PORT`, and then for each request a
line of JSON: its path, whether it is believed, and what it says.
"""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        believed = True
        if self.path != "/chat":
            try:
                Webhook(self.key).verify(body, dict(self.headers))
            except WebhookVerificationError as error:
                believed = False
                print(error, file=sys.stderr)
        said = {"path": self.path, "believed": believed, "says": json.loads(body)}
        print(json.dumps(said), flush=True)
        self.send_response(410 if self.path == "/gone" else 200 if believed else 401)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    Receiver.key = sys.argv[2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(f"ready {server.server_address[1]}", flush=True)
    server.serve_forever()


main()
