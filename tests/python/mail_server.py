"""A real mail server (aiosmtpd) that does what the receiver's name says, so that a client meets each of a server's moods.

Each mail that it takes is a file `N.eml` in --folder, with `N.json` beside it: from, to, options, TLS, login.
Its log is one line a connection, so that one can count them. With --lmtp it takes a mail only when mailboxes have it.

  never@     550 to RCPT           data-never@    554 after the mail
  later@     451 to RCPT           data-later@    452 after the mail
  goodbye@   421 to RCPT, closes   data-goodbye@  421 after the mail, closes
  leaves@    closes at RCPT        drop@          takes the mail, closes without a word
  slow@      half a second at RCPT  hang@         takes the mail and says nothing for a minute
Whoever writes to one of these for the first time is kept waiting for 25 s, and the log says `holds`:

  hold-rcpt@     at RCPT                hold-end@      before its word, with the mail taken
  hold-data@     before its word, with the mail not taken
"""

import argparse
import asyncio
import json
import os
import smtplib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

SECONDS_SLOW = 0.5
SECONDS_HANG = 60
SECONDS_HOLD = 40


class Moods:
    def __init__(self, folder, lmtp):
        self.folder = folder
        self.lmtp = lmtp
        self.held = set()
        self.count = sum(name.endswith(".eml") for name in os.listdir(folder))

    async def handle_RCPT(self, server, session, envelope, address, options):
        mood = address.split("@")[0]
        if mood == "never":
            return f"550 5.1.1 <{address}>: there is no {mood}"
        if mood == "later":
            return f"451 4.2.0 <{address}> is not to be reached"
        if mood == "goodbye":
            server.transport.write(b"421 4.7.0 less of you, please\r\n")
        if mood in ("goodbye", "leaves"):
            server.transport.close()
            return ""
        await self.hold("hold-rcpt", address)
        if mood == "slow":
            await asyncio.sleep(SECONDS_SLOW)
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        mood = envelope.rcpt_tos[0].split("@")[0]
        if mood == "data-never":
            return f"554 5.7.1 not for {envelope.rcpt_tos[0]}"
        if mood == "data-later":
            return "452 4.3.1 no room"
        if mood == "data-goodbye":
            server.transport.write(b"421 4.3.2 going down\r\n")
            server.transport.close()
            return ""
        await self.hold("hold-data", envelope.rcpt_tos[0])
        if self.lmtp:
            await asyncio.to_thread(self.deliver, envelope)
        self.keep(server, session, envelope)
        await self.hold("hold-end", envelope.rcpt_tos[0])
        if mood == "drop":
            server.transport.close()
            return ""
        if mood == "hang":
            await asyncio.sleep(SECONDS_HANG)
        return "250 2.0.0 OK"

    def deliver(self, envelope):
        host, port = self.lmtp.rsplit(":", 1)
        with smtplib.LMTP(host, int(port)) as mailboxes:
            mailboxes.sendmail(envelope.mail_from, envelope.rcpt_tos, envelope.original_content)

    async def hold(self, mood, address):
        if address.startswith(mood + "@") and address not in self.held:
            self.held.add(address)
            print("holds", flush=True)
            await asyncio.sleep(SECONDS_HOLD)

    def keep(self, server, session, envelope):
        self.count += 1
        about = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "options": envelope.mail_options,
            "tls": server.transport.get_extra_info("sslcontext") is not None,
            "login": session.auth_data.login.decode() if session.authenticated else None,
        }
        self.put(f"{self.count}.json", json.dumps(about).encode())
        self.put(f"{self.count}.eml", envelope.original_content)

    def put(self, name, content):
        """Whole or not at all, for somebody looks while it is written."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.rename(path + ".new", path)


class Said(SMTP):
    """Says when somebody connects."""

    def connection_made(self, transport):
        if self.session is None:
            print("connected", flush=True)
        super().connection_made(transport)


async def serve(args):
    context = None
    if args.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.certificate)
    moods = Moods(args.folder, args.lmtp)

    def authenticator(server, session, envelope, mechanism, data):
        good = args.login and f"{data.login.decode()}:{data.password.decode()}" == args.login
        return AuthResult(success=bool(good), handled=bool(good), auth_data=data)

    def talk():
        return Said(
            moods,
            hostname="moods.example",
            ident="moods",
            enable_SMTPUTF8=True,
            data_size_limit=args.size,
            tls_context=context if args.tls == "starttls" else None,
            require_starttls=args.tls == "starttls",
            authenticator=authenticator,
            auth_required=bool(args.login),
            # Within TLS from the start it does not know that it is.
            auth_require_tls=args.tls == "starttls",
            timeout=args.idle,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(talk, args.host, args.port, ssl=context if args.tls == "tls" else None)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", required=True, help="where mails are kept")
    parser.add_argument("--tls", choices=["none", "starttls", "tls"], default="none")
    parser.add_argument("--certificate", help="key and certificate in one PEM file")
    parser.add_argument("--login", help="USER:PASSWORD that has to be given")
    parser.add_argument("--size", type=int, default=32 << 20, help="bytes of the largest mail")
    parser.add_argument("--idle", type=float, default=300, help="seconds after which who says nothing is left")
    parser.add_argument("--lmtp", help="HOST:PORT of mailboxes that get what it takes")
    args = parser.parse_args()
    try:
        asyncio.run(serve(args))
    except KeyboardInterrupt:
        sys.exit(0)


main()
