"""A house is upgraded and taken back while events come in: `life.py OLD NEW`, two programs, on real Kafka and Cassandra.

Two processes of all rooms share one house. One after the other is replaced by the new program, and then by the old one
again, so that for two spells both versions are at work. Half of the events are told at once; the others wait in windows
that are open all the time and are released at the end. A mail server of its own counts: each person is told each entry
once. TIDINGS_KAFKA and TIDINGS_CQL say where the engines are.
"""

import collections
import email
import email.policy
import json
import os
import pathlib
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
NAME = f"upgrade_{os.getpid()}"
PERSONS = 100
# Events of one request, and how long somebody rests between two.
BATCH = 20
REST = 0.15
# At least so many events are told of, however quick the machine is.
EVENTS = 2000
# Laying out tables takes long on a busy machine.
MIGRATION = 300
# So long both processes are at work at least, after both have told something.
SPELL = 2.0
PATIENCE = int(os.environ.get("TIDINGS_UPGRADE_PATIENCE", "120"))


class Failure(Exception):
    pass


def reader(n):
    """Whom an event concerns: each person has notes and posts."""
    return f"p{n // 2 % PERSONS}"


def wait_for(what, look, patience=PATIENCE):
    """What `look` answers, as soon as it is anything; it may fail until then."""
    until, last = time.monotonic() + patience, None
    while time.monotonic() < until:
        try:
            if found := look():
                return found
        except (OSError, ValueError, LookupError) as error:
            last = error
        time.sleep(0.2)
    raise Failure(f"{what}: not within {patience} s ({last})")


class Mails(socketserver.StreamRequestHandler):
    """A mail server. What it has taken is in `taken`: to whom, which mail, and of which entries it tells."""

    taken = []

    def handle(self):
        self.say("220 upgrade.example")
        to = []
        while line := self.rfile.readline():
            word = line.decode(errors="replace").strip()
            verb = word[:4].upper()
            if verb == "EHLO":
                self.say("250-upgrade.example\r\n250-8BITMIME\r\n250 SMTPUTF8")
            elif verb == "RCPT":
                to.append(re.search(r"<([^@>]+)@", word).group(1))
                self.say("250 ok")
            elif verb == "DATA":
                self.say("354 go on")
                lines = []
                while (line := self.rfile.readline()) and line != b".\r\n":
                    lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
                if not line:
                    return
                mail = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
                text = mail.get_body(("plain",)).get_content()
                self.taken.append((to, mail["message-id"], [int(number) for number in re.findall(r"T(\d+)\.", text)]))
                to = []
                self.say("250 taken")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Process:
    """One process of the house, of either program, one after the other."""

    def __init__(self, folder, rooms, settings):
        self.folder, self.rooms, self.settings = folder, rooms, settings
        self.folder.mkdir()
        self.child = None

    def start(self, program):
        self.out = open(self.folder / "out", "wb")
        with open(self.folder / "log", "ab") as log:
            self.child = subprocess.Popen(
                [str(program), "run", *self.rooms, "--json", "--data-dir", str(self.folder / "data")],
                stdin=subprocess.DEVNULL, stdout=self.out, stderr=log, cwd=self.folder, env={**os.environ, **self.settings},
            )
        wait_for(f"{program} is ready", self.is_ready)

    def is_ready(self):
        if self.child.poll() is not None:
            raise Failure(f"it ended with {self.child.returncode}: {self.log()}")
        return self.fetch("/health/ready").startswith("ready")

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(60)
        if code != 0:
            raise Failure(f"it ended with {code}: {self.log()}")

    def kill(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def fetch(self, path, body=None, kind="application/json"):
        address = json.loads((self.folder / "out").read_text().splitlines()[0])["address"].rstrip("/")
        headers = {"content-type": kind} if body is not None else {}
        if path.startswith(("/admin", "/metrics")):
            token = json.loads((self.folder / "data/admin.json").read_text())["token"]
            headers["authorization"] = f"Bearer {token}"
        request = urllib.request.Request(address + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode(errors="replace")

    def measure(self, name, *labels):
        """The sum of a metric over the lines that have these labels."""
        lines = self.fetch("/metrics").splitlines()
        found = [line for line in lines if line.startswith(name + "{") and all(label in line for label in labels)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)

    def told(self):
        return self.measure("tidings_sender_outcomes_total", 'outcome="sent"')


class Feed(threading.Thread):
    """Says events at one door after the other, each until it is taken."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes = processes
        self.next, self.is_over, self.error = 0, threading.Event(), None

    def run(self):
        turn = 0
        while not self.is_over.is_set() or self.next < EVENTS:
            lines = [self.event(n) for n in range(self.next, self.next + BATCH)]
            turn += 1
            if self.say(self.processes[turn % len(self.processes)], "/v1/changes", lines):
                self.next += BATCH
            time.sleep(REST if not self.is_over.is_set() else 0)

    @staticmethod
    def event(n):
        sort, verb = ("post", "published") if n % 2 else ("note", "written")
        data = {"title": f"T{n}.", "reader": reader(n)}
        return {"id": f"event-{n}", "source": "upgrade", "type": f"{sort}.{verb}", "subject": f"{sort}:{n}", "data": data}

    def say(self, process, path, lines):
        body = "\n".join(json.dumps(line) for line in lines).encode()
        try:
            answer = json.loads(process.fetch(path, body, "application/x-ndjson"))
        except (OSError, ValueError, LookupError):
            return False
        if answer.get("accepted") != len(lines):
            self.error = f"not all were taken: {answer}"
        return True

    def end(self):
        self.is_over.set()
        self.join(PATIENCE)
        if self.is_alive() or self.error:
            raise Failure(self.error or "the events were not taken")


class House:
    def __init__(self, folder, old, new, port):
        self.folder, self.old, self.new = folder, old, new
        self.settings = {
            "TIDINGS_ENGINE": "production", "TIDINGS_KAFKA_BROKERS": os.environ["TIDINGS_KAFKA"],
            "TIDINGS_KAFKA_PREFIX": f"{NAME}.", "TIDINGS_KAFKA_REPLICATION": "1", "TIDINGS_KAFKA_MIN_INSYNC": "1",
            "TIDINGS_KAFKA_SESSION": "6s", "TIDINGS_CQL_CONTACT_POINTS": os.environ["TIDINGS_CQL"],
            "TIDINGS_CQL_KEYSPACE": NAME, "TIDINGS_CATALOGUE": str(HERE / "catalogue"), "TIDINGS_LISTEN": "127.0.0.1:0",
            "TIDINGS_PARTITIONS": "8", "TIDINGS_SECRET": "5e" * 32, "TIDINGS_LIMITS_HAND_OVER": "10s",
            "TIDINGS_MAIL_WAYS": f"smtp+plain://127.0.0.1:{port}", "TIDINGS_OUTBOX": str(folder / "outbox"),
            "TIDINGS_DISK_RESERVE": "1MiB",
        }
        rooms = ["ingest", "fanout", "digest", "sender"]
        self.processes = [
            Process(folder / "a", [*rooms, "keeper"], self.settings), Process(folder / "b", rooms, self.settings),
        ]
        self.feed = Feed(self.processes)

    def migrate(self, program):
        ran = subprocess.run(
            [str(program), "migrate", "--data-dir", str(self.folder / "migrate")], env={**os.environ, **self.settings},
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MIGRATION,
        )
        if ran.returncode != 0:
            raise Failure(f"migrate of {program}: {ran.returncode}\n{ran.stdout}{ran.stderr}")

    def open(self):
        """A house of two old processes, with its people."""
        self.migrate(self.old)
        for process in self.processes:
            process.start(self.old)
        people = [
            {"id": f"profile-{p}", "source": "upgrade", "type": "tidings.profile",
             "data": {"person": f"p{p}", "email": f"p{p}@example.org"}}
            for p in range(PERSONS)
        ]
        wait_for("the people are taken", lambda: self.feed.say(self.processes[0], "/v1/facts", people))
        self.feed.start()
        self.see_both_work()

    def replace(self, number, program):
        process = self.processes[number]
        process.stop()
        process.start(program)
        self.see_both_work()

    def see_both_work(self):
        """Both have partitions of the digest and tell something, for a while."""
        before = [process.told() for process in self.processes]
        began = time.monotonic()

        def are_at_work():
            parts = [p.measure("tidings_consumergroup_assigned_partitions", f'consumergroup="{NAME}.digest"') for p in self.processes]
            tell = [process.told() > told for process, told in zip(self.processes, before, strict=True)]
            if not all(parts) or not all(tell):
                raise ValueError(f"partitions {parts}, tell {tell}, {self.feed.next} events, {len(Mails.taken)} mails")
            return True

        wait_for("both processes have partitions and tell something", are_at_work)
        time.sleep(max(0, SPELL - (time.monotonic() - began)))

    def release(self):
        asked = {"plan": "slow"}
        while True:
            answer = json.loads(self.processes[0].fetch("/admin/release", json.dumps(asked).encode()))
            if answer["next"] is None:
                return
            asked |= {"from": answer["next"], "at": answer["at"]}

    def await_told(self, sort, numbers):
        wanted = {(reader(n), n) for n in numbers}
        wait_for(f"all {sort} are told", lambda: wanted <= set(told()))

    def tell_all(self):
        """All that was said is told, and the windows that were open all the time."""
        self.feed.end()
        self.await_told("notes", range(0, self.feed.next, 2))
        if early := [entry for entry in told() if entry[1] % 2]:
            raise Failure(f"windows closed too early: {early[:5]}")
        self.release()
        self.await_told("posts", range(1, self.feed.next, 2))
        wait_for("nothing lags", lambda: sum(s["lag"] for s in json.loads(self.processes[0].fetch("/admin/stages"))) == 0)

    def check_counts(self):
        """Each entry once, to whom it is for, and nothing else."""
        counts = told()
        wanted = {(reader(n), n) for n in range(self.feed.next)}
        wrong = {entry: count for entry, count in counts.items() if count != 1 or entry not in wanted}
        if wrong or set(counts) != wanted:
            raise Failure(f"{len(counts)} of {len(wanted)} told; these oddly: {list(wrong.items())[:5]}")
        ids = collections.Counter(id for _, id, _ in list(Mails.taken))
        if twice := [id for id, count in ids.items() if count != 1]:
            raise Failure(f"these mails came twice: {twice[:5]}")
        print(f"        {len(wanted)} entries in {len(ids)} mails to {PERSONS} people")

    def check_calm(self):
        aside = json.loads(self.processes[0].fetch("/admin/quarantine"))
        if aside:
            raise Failure(f"put aside: {aside}")
        for process in self.processes:
            if process.measure("tidings_consumergroup_standstill_partitions"):
                raise Failure(f"a partition stands still: {process.log()}")


def told():
    """How often somebody was told of an entry, by person and number."""
    counts = collections.Counter()
    for to, _, numbers in list(Mails.taken):
        counts.update((person, number) for person in to for number in numbers)
    return counts


def live(house):
    yield "a house of the old program", house.open
    yield "the new program migrates beside the old one", lambda: house.migrate(house.new)
    yield "old and new at work, on the way up", lambda: house.replace(0, house.new)
    yield "the new program alone", lambda: house.replace(1, house.new)
    yield "the old program migrates beside the new one", lambda: house.migrate(house.old)
    yield "old and new at work, on the way back", lambda: house.replace(0, house.old)
    yield "the old program alone", lambda: house.replace(1, house.old)
    yield "all is told, with the windows that were open all the time", house.tell_all
    yield "each entry once", house.check_counts
    yield "nothing is put aside, and nothing stands still", house.check_calm


def main():
    old, new = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidings-upgrade-"))
    server = MailServer(("127.0.0.1", 0), Mails)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    house = House(folder, old, new, server.server_address[1])
    passed = failed = 0
    try:
        for what, step in live(house):
            began = time.monotonic()
            try:
                step()
            except (Failure, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED  {what}: {error}")
                for process in house.processes:
                    if (process.folder / "log").exists():
                        print("\n".join("  " + line for line in process.log().splitlines()[-12:]))
                # What follows stands on this.
                break
            passed += 1
            print(f"ok      {what} ({time.monotonic() - began:.1f} s)", flush=True)
    finally:
        for process in house.processes:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
