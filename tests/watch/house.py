"""A house that is watched: real engines, a process for each room, a mail server, Prometheus and Alertmanager.

Everything lies in one folder, at ports that are free, and ends with it.
"""

import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import mmdb_writer
import netaddr
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOMS = ("sender", "digest", "fanout", "feed", "slots", "keeper", "ingest")
PREFIX = f"watch{os.getpid()}."
PATIENCE = 300


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def wait_for(what, look, patience=PATIENCE):
    """What `look` answers, as soon as it is anything; it may fail until then."""
    until = time.monotonic() + patience
    last = None
    while time.monotonic() < until:
        try:
            if found := look():
                return found
        except (OSError, ValueError, KeyError) as error:
            last = error
        time.sleep(0.2)
    raise SystemExit(f"{what}: not within {patience} s ({last})")


def fetch(url, body=None, kind="application/json"):
    request = urllib.request.Request(url, data=body, headers={"content-type": kind} if body is not None else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode(errors="replace")


class Hook(http.server.BaseHTTPRequestHandler):
    """Whom Alertmanager calls."""

    calls = []

    def do_POST(self):
        self.calls.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class House:
    def __init__(self, folder, programs):
        self.folder = pathlib.Path(folder)
        self.program, self.engines = programs / "tidings", programs / "engines"
        self.running = {}
        self.ports = {room: free_port() for room in ROOMS}
        self.mail, self.nobody, self.hook = free_port(), free_port(), free_port()
        self.prometheus, self.alertmanager = free_port(), free_port()
        self.count = 0

    def spawn(self, name, words, environment=None):
        log = open(self.folder / f"{name}.log", "ab")
        self.running[name] = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )

    def stop(self, name, how=signal.SIGTERM, patience=60):
        process = self.running.pop(name)
        os.killpg(process.pid, how)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self):
        for name in [*reversed([name for name in self.running if name != "engines"]), "engines"]:
            if name in self.running:
                self.stop(name)

    def log_of(self, name, lines=8):
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def start_engines(self):
        """Those that somebody runs already, as `make engines` says where, or new ones."""
        if "TIDINGS_KAFKA" not in os.environ:
            self.spawn("engines", [self.engines, "up"])
            # The registry is the last that it names.
            log = self.folder / "engines.log"
            text = wait_for("the engines", lambda: next((text for text in [log.read_text()] if "TIDINGS_REGISTRY=" in text), None))
            os.environ.update(re.findall(r"export (\w+)=(\S+)", text))

    def write_addresses(self):
        """A database that knows where one network is."""
        writer = mmdb_writer.MMDBWriter(ip_version=4, database_type="Watched-City")
        place = {"latitude": 52.5, "longitude": 13.4, "accuracy_radius": mmdb_writer.MmdbU16(20)}
        writer.insert_network(netaddr.IPSet(["203.0.113.0/24"]), {"location": place})
        writer.to_db_file(str(self.folder / "addresses.mmdb"))

    def settings(self):
        return {
            "TIDINGS_ENGINE": "production", "TIDINGS_KAFKA_BROKERS": os.environ["TIDINGS_KAFKA"], "TIDINGS_KAFKA_PREFIX": PREFIX,
            "TIDINGS_KAFKA_REPLICATION": "1", "TIDINGS_KAFKA_MIN_INSYNC": "1", "TIDINGS_KAFKA_SESSION": "6s",
            "TIDINGS_CQL_CONTACT_POINTS": os.environ["TIDINGS_CQL"], "TIDINGS_CQL_KEYSPACE": f"watch_{os.getpid()}",
            "TIDINGS_REGISTRY_URL": os.environ["TIDINGS_REGISTRY"], "TIDINGS_PARTITIONS": "4", "TIDINGS_CATALOGUE": str(HERE / "catalogue"),
            "TIDINGS_SECRET": "5a" * 32, "TIDINGS_PUBLIC_URL": f"http://127.0.0.1:{self.ports['ingest']}", "TIDINGS_OUTBOX": str(self.folder / "outbox"), "TIDINGS_MAIL_RETURNS": "returns.watched.example",
            "TIDINGS_MAIL_PROVIDER": "postmark", "TIDINGS_DISK_RESERVE": "1MiB", "TIDINGS_GEOIP_DATABASE": str(self.folder / "addresses.mmdb"),
            # The second takes no mails at all.
            "TIDINGS_MAIL_WAYS": f"smtp+plain://127.0.0.1:{self.mail}?name=one&weight=3\nsmtp+plain://127.0.0.1:{self.nobody}?name=two&weight=1",
        }

    def tidings(self, *words, code=0):
        """Runs a command beside the ingest process."""
        ran = subprocess.run(
            [str(self.program), *words], env={**os.environ, **self.settings(), "TIDINGS_DATA_DIR": str(self.folder / "ingest")}, cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
        )
        if code is not None and ran.returncode != code:
            raise SystemExit(f"tidings {' '.join(words)}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran

    def start_room(self, room):
        environment = {**self.settings(), "TIDINGS_DATA_DIR": str(self.folder / room), "TIDINGS_LISTEN": f"127.0.0.1:{self.ports[room]}"}
        self.spawn(room, [self.program, "run", room], environment)

    def is_ready(self, room):
        if self.running[room].poll() is not None:
            raise SystemExit(f"{room} has ended\n{self.log_of(room)}")
        return fetch(f"http://127.0.0.1:{self.ports[room]}/health/ready")

    def start(self):
        self.start_engines()
        self.write_addresses()
        (self.folder / "mails").mkdir()
        self.spawn("mail", [sys.executable, ROOT / "tests/python/mail_server.py", "--port", self.mail, "--folder", self.folder / "mails"])
        # A busy machine's brokers take long; it may be repeated.
        wait_for("the migration", lambda: self.tidings("migrate", code=None).returncode == 0)
        for room in ROOMS:
            self.start_room(room)
        for room in ROOMS:
            wait_for(f"{room} to be ready", lambda room=room: self.is_ready(room))

    def metrics(self, room):
        return fetch(f"http://127.0.0.1:{self.ports[room]}/metrics")

    # What a service and a provider say.

    def post(self, path, events):
        self.count += 1
        lines = "\n".join(json.dumps({"id": f"{self.count}-{at}", "source": "watch", **event}) for at, event in enumerate(events))
        return fetch(f"http://127.0.0.1:{self.ports['ingest']}{path}", lines.encode(), "application/x-ndjson")

    # Who watches.

    def start_watching(self, rules):
        """Prometheus with the alerts and Alertmanager with a webhook, as quick as they can be."""
        targets = [{"targets": [f"127.0.0.1:{port}"], "labels": {"room": room, "namespace": "news", "release": "news"}} for room, port in self.ports.items()]
        alertmanagers = [{"static_configs": [{"targets": [f"127.0.0.1:{self.alertmanager}"]}]}]
        configuration = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
            "alerting": {"alertmanagers": alertmanagers}, "scrape_configs": [{"job_name": "tidings", "static_configs": targets}],
        }
        (self.folder / "rules.yaml").write_text(yaml.safe_dump(rules))
        (self.folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
        receiver = {"name": "hook", "webhook_configs": [{"url": f"http://127.0.0.1:{self.hook}/", "send_resolved": True}]}
        route = {"receiver": "hook", "group_by": ["alertname"], "group_wait": "1s", "group_interval": "1s", "repeat_interval": "1h"}
        (self.folder / "alertmanager.yaml").write_text(yaml.safe_dump({"route": route, "receivers": [receiver]}))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.hook), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.spawn("alertmanager", [
            shutil.which("prometheus-alertmanager") or "alertmanager", f"--config.file={self.folder}/alertmanager.yaml", f"--storage.path={self.folder}/am",
            f"--web.listen-address=127.0.0.1:{self.alertmanager}", "--cluster.listen-address="])
        self.spawn("prometheus", [
            "prometheus", f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.prometheus}"])
        wait_for("Prometheus", lambda: self.ask("query", query="up == 1")["result"])

    def ask(self, what, **words):
        """One question to Prometheus; an error is one of the asker."""
        url = f"http://127.0.0.1:{self.prometheus}/api/v1/{what}?{urllib.parse.urlencode(words)}"
        try:
            return json.loads(fetch(url))["data"]
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                raise
            raise RuntimeError(f"{words}: {error.read().decode()}") from error
