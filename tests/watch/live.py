"""Has a real house watched by a real Prometheus, and one alert delivered by a real Alertmanager.

    live.py PROGRAMS

PROGRAMS is the folder with `tidings` and `engines`. It starts engines, unless `TIDINGS_KAFKA`, `TIDINGS_CQL` and
`TIDINGS_REGISTRY` say where some are. Then the house is given things to do, and
- each process's metrics are clean for `promtool check metrics`;
- every query of every panel has data, and so has what the variables offer;
- each query and command of the runbooks runs;
- the fan-out is stopped, and Alertmanager's webhook names group, topic and runbook, and later that it is over.
"""

import contextlib
import email
import email.policy
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import kafka
import yaml

import lint
from house import PREFIX, ROOMS, Hook, House, fetch, wait_for

# A house that is awake enough for these alerts, and as quick as a test wants them.
THRESHOLDS = {"lagSeconds": "15", "lagFor": "2s", "ownerFor": "2s"}
PERSONS = {name: f"{name}@example.org" for name in ("ann", "ben", "fay", "gus")}
# What a mail program says of itself that a reader uses.
READER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
# Whose servers turn mails away, refuse them, or break off, as tests/python/mail_server.py does. A server that breaks off is
# left alone for a while, so they are written to now and then.
MOODS = {"cem": "later@example.org", "dot": "never@example.org", "eve": "drop@example.org"}


class Load(threading.Thread):
    """What services and providers say, again and again, until somebody ends it."""

    def __init__(self, house):
        super().__init__(daemon=True)
        self.house, self.over, self.rounds, self.error, self.slots = house, threading.Event(), 0, None, []

    def run(self):
        while not self.over.wait(0.5):
            self.rounds += 1
            try:
                self.say()
            except OSError as error:
                # Whoever is told to come back later does so, and on a busy machine that happens.
                self.error = error if getattr(error, "code", 503) not in (429, 503) else self.error

    def say(self):
        now = self.rounds
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.house.post("/v1/changes", [{"type": "post.published", "subject": f"post:{now}", "title": f"Post {now}", "author": "author:1", "time": stamp}])
        owners = [*PERSONS, *(MOODS if now % 60 == 5 else ())]
        self.house.post("/v1/changes", [{"type": "alarm.raised", "subject": f"alarm:{now}-{name}", "title": "Alarm", "owner": name, "time": stamp} for name in owners])
        for name in PERSONS:
            feed_of(self.house, name, "feed?limit=5")
        feed_of(self.house, "ann", "marks", json.dumps({"mark": "seen", "all": True}).encode())
        self.slots = self.slots or slots_of_a_mail(self.house)
        for path in self.slots:
            ask_slot(self.house, path)


def feed_of(house, name, what, body=None):
    return fetch(f"http://127.0.0.1:{house.ports['feed']}/v1/people/{name}/{what}", body)


def messages(house):
    for path in sorted((house.folder / "mails").glob("*.eml")):
        yield email.message_from_bytes(path.read_bytes(), policy=email.policy.default)


def slots_of_a_mail(house):
    """The paths of pictures and pages in the first mail that has any."""
    for message in messages(house):
        if found := re.findall(r"http://[^\"\s>/]+(/s/[^\"\s>]+)", message.get_body(("html",)).get_content()):
            return found
    return []


def ask_slot(house, path):
    """Asks as a reader's program does, which would go on to where it is led."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", house.ports["slots"], timeout=20)) as connection:
        connection.request("GET", path, headers={"user-agent": READER})
        answer = connection.getresponse()
        if answer.status != 302:
            raise urllib.error.HTTPError(path, answer.status, answer.reason, answer.headers, None)


def wait_for_news(house):
    """A bell that is open, until the house ends."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{house.ports['feed']}/v1/people/ann/live", timeout=60) as news:
        for _ in news:
            pass


def people(house):
    facts = []
    for name, address in {**PERSONS, **MOODS}.items():
        hooks = {hook: f"https://{hook}.example/{name}" for hook in ("webhook", "chat")}
        facts.append({"type": "tidings.profile", "person": name, "email": address, "zone": "UTC", "name": name.title(), **hooks})
        facts.append({"type": "tidings.device", "person": name, "device": "phone", "platform": "ios", "token": "a" * 64})
    facts += [{"type": "tidings.follow", "person": name, "target": "author:1"} for name in PERSONS]
    house.post("/v1/facts", facts)
    house.post("/v1/changes", [{"type": "author.named", "subject": "author:1", "name": "Mira"}])
    things = [{"type": "thing.made", "subject": f"thing:{at}", "picture": f"https://watched.example/{at}.png", "page": f"https://watched.example/{at}"} for at in (1, 2)]
    house.post("/v1/changes", [*things, {"type": "picks.made", "subject": "picks:all", "things": ["thing:1", "thing:2"]}])


def trouble(house):
    """What does not go well in any house."""
    producer = kafka.KafkaProducer(bootstrap_servers=os.environ["TIDINGS_KAFKA"])
    change = {"id": "topic-1", "source": "upstream", "type": "post.published", "subject": "post:topic", "title": "By topic", "author": "author:1"}
    for value in (json.dumps(change).encode(), b"\x00 nobody can read this", b"{\"id\":"):
        producer.send(f"{PREFIX}changes", value, key=b"post:topic")
    producer.flush()
    bounce = {"RecordType": "Bounce", "Type": "HardBounce", "Email": "x@example.org", "MessageID": "1"}
    refused = lambda: house.post("/v1/changes", [{"type": "post.published", "subject": "nothing:1", "title": "of no declared type"}])
    returned = lambda: fetch(f"http://127.0.0.1:{house.ports['ingest']}/v1/returns/postmark", json.dumps(bounce).encode())
    for name, said in {"an undeclared type": refused, "somebody else's mail": returned}.items():
        try:
            print(f"{name}: {said()}")
        except urllib.error.HTTPError as error:
            print(f"{name}: {error.code}")


def what_comes_back(house):
    """Reports of a bounce and of a complaint about mails that left, and an opened mail."""

    def mail_to(address):
        for path in (house.folder / "mails").glob("*.json"):
            if address in json.loads(path.read_text())["to"]:
                return email.message_from_bytes(path.with_suffix(".eml").read_bytes(), policy=email.policy.default)

    for address, kind in {"fay@example.org": {"RecordType": "Bounce", "Type": "HardBounce"}, "gus@example.org": {"RecordType": "SpamComplaint", "Type": "SpamComplaint"}}.items():
        word = wait_for(f"a mail to {address}", lambda: mail_to(address))["X-Tidings-Return"]
        report = {**kind, "Email": address, "MessageID": "1", "Metadata": {"tidings": word}}
        told = fetch(f"http://127.0.0.1:{house.ports['ingest']}/v1/returns/postmark", json.dumps(report).encode())
        print(f"{kind['RecordType']} of {address}: {told}")
    opened = None
    for message in messages(house):
        if found := re.search(r"http://[^\"\s>]+/u/o/[^\"\s>]+", message.get_body(("html",)).get_content()):
            opened = found[0]
    print(f"a mail is opened: {len(fetch(opened))} bytes" if opened else "no mail can be opened")


def shortened():
    """The rules with these thresholds, set as the chart sets them."""
    text = lint.ALERTS.read_text()
    for name, value in THRESHOLDS.items():
        text = re.sub(rf"\S+ # {name}\b", f"{value} # {name}", text)
    rules = yaml.safe_load(text)
    for group in rules["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            # So that one sees soon that it is over.
            rule.pop("keep_firing_for", None)
    return rules


def check_metrics(house):
    for room in ROOMS:
        ran = subprocess.run(["promtool", "check", "metrics"], input=house.metrics(room), capture_output=True, text=True)
        if ran.returncode != 0 or ran.stdout or ran.stderr:
            yield f"{room}: {ran.returncode} {ran.stdout}{ran.stderr}"


def has_data(house, expression, since):
    """Whether a query had any number since the load began."""
    found = house.ask("query_range", query=expression, start=since, end=time.time(), step=2)["result"]
    return any(value not in ("NaN", "+Inf", "-Inf") for series in found for _, value in series["values"])


def check_panels(house, since):
    count = 0
    for path in sorted(lint.DASHBOARDS.glob("*.json")):
        board = json.loads(path.read_text())
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                query = re.fullmatch(r"label_values\((\w+)(?:\{(.*)\})?, (\w+)\)", variable["query"])
                chosen = lint.fill(f"{query[1]}{{{query[2] or ''}}}")
                if not house.ask(f"label/{query[3]}/values", **{"match[]": chosen}):
                    yield f"{path.stem}: the variable {variable['name']} offers nothing"
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                count += 1
                expression = lint.fill(target["expr"], "30s")
                if not has_data(house, expression, since):
                    yield f"{path.stem}, {panel['title']}: no data for {expression}"
    print(f"{count} queries of panels")


def check_runbook_queries(house):
    count = 0
    for path in lint.pages_with_queries():
        for block in lint.fences(path.read_text(), "promql"):
            for line in block.splitlines():
                count += 1
                try:
                    house.ask("query", query=line)
                except RuntimeError as error:
                    yield f"{path.stem}: {error}"
    print(f"{count} queries of runbooks")


def check_runbook_commands(house):
    ran, parsed, done = 0, 0, set()
    for path in sorted(lint.RUNBOOKS.glob("*.md")):
        text = path.read_text()
        typed = [line for block in lint.fences(text, "sh") for line in block.splitlines()]
        spans = [span for span in re.findall(r"`(tidings [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S)) if span.count(" ") > 1]
        for command in [*typed, *spans]:
            if command in done or command.startswith("tidings run "):
                continue
            done.add(command)
            words = command.split()
            if words[0] == "tidings":
                ran += 1
                outcome = house.tidings(*words[1:], code=None)
                if outcome.returncode in (1, 3, 4) and "the log" in outcome.stderr or "waits for its engines" in outcome.stderr:
                    # On a busy machine the brokers are away now and then.
                    wait_for("the house to go on", lambda: house.is_ready("ingest"))
                    outcome = house.tidings(*words[1:], code=None)
                if outcome.returncode != 0:
                    yield f"{path.stem}: {command}: {outcome.returncode} {outcome.stdout}{outcome.stderr}"
            elif words[0] == "kubectl":
                parsed += 1
                yield from check_kubectl(path.stem, command)
            else:
                outcome = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
                if outcome.returncode != 0:
                    yield f"{path.stem}: {command}: {outcome.stderr}"
    print(f"{ran} commands of tidings were run, {parsed} of kubectl parsed")


def check_kubectl(name, command):
    """Without a server it says that there is none; a flag that it does not know it finds before."""
    try:
        outcome = subprocess.run([*command.split(), "--server=http://127.0.0.1:1"], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": os.devnull})
    except FileNotFoundError:
        return
    if "refused" not in outcome.stderr:
        yield f"{name}: {command}: {outcome.stderr or outcome.stdout}"


def calls(status, alert):
    return [one for call in Hook.calls for one in call["alerts"] if one["status"] == status and one["labels"]["alertname"] == alert]


def check_delivery(house):
    """Stops the room that reads events. Records wait for it; whoever is woken up must learn which, and what to do."""
    lag = f'max(tidings_consumergroup_lag_seconds{{topic="{PREFIX}events"}})'
    wait_for("all events to be read", lambda: house.ask("query", query=f"max_over_time({lag}[20s:1s]) < 10")["result"])
    mine = lambda status, alert: [one for one in calls(status, alert) if one["labels"].get("consumergroup") == f"{PREFIX}fanout"]
    before = len(mine("firing", "TidingsLagGrows"))
    began = time.monotonic()
    house.stop("fanout")
    fired = wait_for("the alert", lambda: mine("firing", "TidingsLagGrows")[before:])[0]
    print(f"the webhook was called {time.monotonic() - began:.0f} s after the fan-out was stopped: {fired['annotations']['summary']}")
    if fired["labels"]["topic"] != f"{PREFIX}events" or f"{PREFIX}fanout" not in fired["annotations"]["summary"]:
        yield f"group and topic are not named: {fired}"
    if fired["annotations"]["runbook_url"] != "docs/runbooks/TidingsLagGrows.md":
        yield f"there is no runbook: {fired}"
    wait_for("the other alert", lambda: mine("firing", "TidingsPartitionsWithoutOwner"))
    house.start_room("fanout")
    wait_for("the end of the alert", lambda: [one for one in mine("resolved", "TidingsLagGrows") if one["startsAt"] == fired["startsAt"]])


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    passed, failed = 0, 0

    def tell(name, wrong):
        nonlocal passed, failed
        wrong = list(wrong)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print("\n  ".join([f"{name}: {'FAILED' if wrong else 'ok'}", *wrong]), flush=True)

    with tempfile.TemporaryDirectory(prefix="watch-") as folder:
        house = House(folder, programs)
        try:
            house.start()
            house.start_watching(shortened())
            since = time.time()
            people(house)
            # It begins when all is done that is due, so before there is much.
            wait_for("an archive", lambda: house.tidings("archive", "--before", "16d", "--out", str(house.folder / "old.avro"), code=None).returncode == 0)
            load = Load(house)
            load.start()
            threading.Thread(target=wait_for_news, args=(house,), daemon=True).start()
            trouble(house)
            tell("promtool check metrics, before much happens", check_metrics(house))
            # The digest's windows are open for a minute, and nobody can replay what was not said.
            wait_for("digests", lambda: has_data(house, 'sum(tidings_due_to_told_seconds_count{channel="email"}) > 0', since), 180)
            wait_for("things at slots", lambda: has_data(house, 'sum(tidings_slots_request_seconds_count{shown="thing"}) > 0', since), 60)
            wait_for("urgent messages", lambda: has_data(house, "sum(tidings_event_to_told_seconds_count) > 0", since), 60)
            what_comes_back(house)
            house.tidings("pause", "begin", "plan:soon", "--why", "it is watched")
            wait_for("a replay", lambda: house.tidings("replay", "events", "--last", "1h", "--execute", "--per-second", "20", code=None).returncode == 0)
            time.sleep(5)
            tell("promtool check metrics, under load", check_metrics(house))
            tell("every panel has data", check_panels(house, since))
            tell("queries of runbooks", check_runbook_queries(house))
            tell("commands of runbooks", check_runbook_commands(house))
            tell("an alert is delivered and ends", check_delivery(house))
            load.over.set()
            load.join()
            tell("the load was taken", [str(load.error)] if load.error else [])
        except BaseException:
            for name in house.running:
                print(f"--- {name}\n{house.log_of(name)}")
            raise
        finally:
            house.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
