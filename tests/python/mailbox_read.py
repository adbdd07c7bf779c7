"""Reads a mailbox by IMAP: mailbox_read.py HOST PORT USER PASSWORD FOLDER.

Each mail is a file `N.eml` in FOLDER, oldest first. Prints how many there are.
"""

import imaplib
import os
import sys


def main():
    host, port, user, password, folder = sys.argv[1:]
    with imaplib.IMAP4(host, int(port)) as mailbox:
        mailbox.login(user, password)
        mailbox.select("INBOX", readonly=True)
        numbers = mailbox.search(None, "ALL")[1][0].split()
        for count, number in enumerate(numbers, 1):
            mail = mailbox.fetch(number, "(BODY.PEEK[])")[1][0][1]
            with open(os.path.join(folder, f"{count}.eml"), "wb") as file:
                file.write(mail)
    print(len(numbers))


main()
