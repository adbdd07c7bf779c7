"""Sends mails as a mailing program does that renders a template for each person and hands it to a server at once:
a process for each core, each with a connection that it keeps. Nothing is signed and nothing is written down.

    direct.py PORT MAILS PROCESSES HTML TEXT

Prints the seconds that it took as JSON.
"""

import json
import multiprocessing
import smtplib
import string
import sys
import time
from email.message import EmailMessage
from email.utils import formatdate, make_msgid


def send(port, first, count, html, text):
    html, text = string.Template(html), string.Template(text)
    with smtplib.SMTP("127.0.0.1", port) as server:
        for number in range(first, first + count):
            words = {"name": "Ann", "unsubscribe": f"https://press.example/u/{number}"}
            mail = EmailMessage()
            mail["From"] = "Press <morning@press.example>"
            mail["To"] = f"ann-{number}@mail.example"
            mail["Subject"] = "Harbour at night and 4 more"
            mail["Date"] = formatdate()
            mail["Message-ID"] = make_msgid(domain="press.example")
            mail["List-Unsubscribe"] = f"<{words['unsubscribe']}>"
            mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
            mail.set_content(text.safe_substitute(words))
            mail.add_alternative(html.safe_substitute(words), subtype="html")
            server.send_message(mail)


def main():
    port, mails, processes = (int(word) for word in sys.argv[1:4])
    with open(sys.argv[4], encoding="utf-8") as html, open(sys.argv[5], encoding="utf-8") as text:
        html, text = html.read(), text.read()
    shares = [mails // processes + (1 if n < mails % processes else 0) for n in range(processes)]
    begun = time.monotonic()
    workers, first = [], 0
    for share in shares:
        worker = multiprocessing.Process(target=send, args=(port, first, share, html, text))
        worker.start()
        workers.append(worker)
        first += share
    for worker in workers:
        worker.join()
    took = time.monotonic() - begun
    if any(worker.exitcode != 0 for worker in workers):
        sys.exit("a sender failed")
    print(json.dumps({"seconds": took}))


if __name__ == "__main__":
    main()
