"""Says to an SMTP server what no polite client says, and what the politest ones say.

    smtp_torture.py HOST PORT TO        TO is an address that is taken there

Each case is a talk on a connection of its own: what is sent, and the reply codes that may come back. After each, a
mail of a usual client must go through. Prints what went otherwise, one line each; exits with 1 if anything did.
"""

import asyncio
import smtplib
import socket
import sys
from email.message import EmailMessage

import aiosmtplib

HELLO = (b"EHLO outside.example\r\n", "250")
FROM = (b"MAIL FROM:<outside@example.org>\r\n", "250")
ENDS = "ends"


def cases(to: bytes) -> dict:
    rcpt = (b"RCPT TO:<" + to + b">\r\n", "250")
    start = [HELLO, FROM, rcpt, (b"DATA\r\n", "354")]
    head = b"Subject: torture\r\n\r\n"
    return {
        "commands in one packet are answered in their order": [
            (HELLO[0] + FROM[0] + rcpt[0] + b"DATA\r\n", ["250", "250", "250", "354"]),
            (head + b"x\r\n.\r\n", "250"),
        ],
        "a command byte by byte": [([bytes([byte]) for byte in HELLO[0]], "250")],
        "a dot that is stuffed": start + [(head + b"..\r\n.x\r\n.\r\n", "250")],
        "a mail within a mail by a bare line feed": start
        + [(head + b"x\n.\nMAIL FROM:<a@example.org>\r\n.\r\n", ["250", "550", "554"])],
        "a mail within a mail by a bare carriage return": start
        + [(head + b"x\r.\rMAIL FROM:<a@example.org>\r\n.\r\n", ["250", "550", "554"])],
        "a mail within a mail by mixed ends": start
        + [(head + b"x\n.\r\nMAIL FROM:<a@example.org>\r\n.\r\n", ["250", "550", "554"])],
        "a line of a megabyte where a command is due": [HELLO, (b"A" * 1_000_000 + b"\r\n", ["500", ENDS])],
        "a body line of 100,000 bytes": start + [(head + b"x" * 100_000 + b"\r\n.\r\n", ["250", "550", "552"])],
        "null bytes in a command": [HELLO, (b"MAIL FROM:<\0>\r\n", "5")],
        "null bytes in a body": start + [(head + b"\0\0\r\n.\r\n", ["250", "550", "554"])],
        "no bytes that are text": [HELLO, (bytes(range(128, 256)) + b"\r\n", "5")],
        "commands before a greeting": [(FROM[0], "503")],
        "a mail without a recipient": [HELLO, FROM, (b"DATA\r\n", "503")],
        "a second sender": [HELLO, FROM, (FROM[0], "503")],
        "a sender without brackets": [HELLO, (b"MAIL FROM:outside@example.org\r\n", ["250", "5"])],
        "a parameter that nobody offered": [HELLO, (b"MAIL FROM:<a@example.org> FOO=BAR\r\n", "5")],
        "a size that nobody takes": [HELLO, (b"MAIL FROM:<a@example.org> SIZE=99999999999999999999999\r\n", "5")],
        "a size below nothing": [HELLO, (b"MAIL FROM:<a@example.org> SIZE=-1\r\n", ["5"])],
        "an address of 5,000 bytes": [HELLO, (b"MAIL FROM:<" + b"a" * 5_000 + b"@example.org>\r\n", ["5", ENDS])],
        "an address with a line's end in it": [HELLO, (b'MAIL FROM:<"a\r\nRCPT TO:<b@example.org>\r\n', "5")],
        "a source route": [HELLO, FROM, (b"RCPT TO:<@relay.example:" + to + b">\r\n", ["250", "5"])],
        "a percent sign that asks for a relay": [HELLO, FROM, (b"RCPT TO:<a%other.example@relay.example>\r\n", ["250", "5"])],
        "a reset forgets the mail": [HELLO, FROM, rcpt, (b"RSET\r\n", "250"), (b"DATA\r\n", "503")],
        "a greeting forgets the mail": [HELLO, FROM, rcpt, HELLO, (b"DATA\r\n", "503")],
        "what is not offered": [HELLO, (b"BDAT 5 LAST\r\nhello", "5")],
        "authentication that is not offered": [HELLO, (b"AUTH PLAIN AGEAYg==\r\n", "5")],
        "names asked for": [HELLO, (b"VRFY root\r\n", "252"), (b"EXPN all\r\n", "5")],
        "an HTTP request": [(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", ["5", ENDS])],
        "commands without end": [HELLO] + [(b"NOOP\r\n" * 200, [["250", "421"], ENDS])],
        "half a mail and gone": start + [(head + b"half", None)],
    }


def talk(host: str, port: int, lines: list) -> str | None:
    with socket.create_connection((host, port), timeout=30) as connection:
        replies = connection.makefile("rb")
        if not reply(replies).startswith("220"):
            return "it was not greeted"
        for sent, wanted in lines:
            try:
                for part in sent if isinstance(sent, list) else [sent]:
                    connection.sendall(part)
            except OSError:
                pass
            if wanted is None:
                return None
            if isinstance(wanted, list) and isinstance(wanted[0], list):
                return until_end(replies, wanted[0])
            # A list of codes after several commands in one packet is one for each of them.
            many = isinstance(wanted, list) and sent.count(b"\r\n") == len(wanted) and b"DATA" in sent
            for one in wanted if many else [wanted]:
                may = [one] if isinstance(one, str) else one
                came = reply(replies)
                if not any(came.startswith(code) for code in may):
                    return f"after {sent[:40]!r}: {came.strip()[:80]!r}, expected {may}"
                if came == ENDS:
                    return None
    return None


def until_end(replies, may: list) -> str | None:
    while (came := reply(replies)) != ENDS:
        if not any(came.startswith(code) for code in may):
            return f"{came.strip()[:80]!r}, expected {may}"
    return None


def reply(replies) -> str:
    """The last line of a reply, or that the connection ended."""
    while True:
        try:
            line = replies.readline(4096)
        except OSError:
            return ENDS
        if not line:
            return ENDS
        if line[3:4] != b"-":
            return line.decode("ascii", "replace")


def mail(to: str, subject: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "outside@example.org", to, subject
    message.set_content("Hello.\n.\n..\nEnd.\n")
    return message


def main() -> int:
    host, port, to = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    wrong = 0
    for name, lines in cases(to.encode()).items():
        try:
            went = talk(host, port, lines)
            with smtplib.SMTP(host, port, timeout=30) as polite:
                polite.send_message(mail(to, f"after: {name}"[:60]))
        except (OSError, smtplib.SMTPException) as error:
            went = f"afterwards: {error!r}"
        if went:
            wrong += 1
            print(f"{name}: {went}")
    asyncio.run(aiosmtplib.send(mail(to, "aiosmtplib"), hostname=host, port=port, start_tls=False, timeout=30))
    print(f"{len(cases(to.encode()))} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
