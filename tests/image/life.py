"""Runs the image as a cluster would: as its own user, without a capability, on a root that nobody can write to.

    life.py ROOT CONFIG CATALOGUE SCRATCH

ROOT is the unpacked image and CONFIG the settings of its container; user, program, environment, health check and signal
are taken from there. It must be in a network of its own (`unshare --net`), where it gives out names, takes mails behind
TLS and a login, and plays a broker behind TLS. The last line is `N passed, N failed`.
"""

import email
import email.policy
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from zoneinfo import ZoneInfo

from dnslib import RR
from dnslib.server import BaseResolver, DNSLogger, DNSServer

HERE = os.path.dirname(os.path.abspath(__file__))
MAIL_ADDRESS = "10.7.0.2"
BROKER_ADDRESS = "10.7.0.3"
MAIL_HOST = "mail.example.test"  # known to the name server alone
BROKER_HOST = "broker.example.test"  # known to /etc/hosts alone
ADDRESS = "http://127.0.0.1:7280"
API_KEY = "a key of the services that publish"
LOGIN = "herald:a password of the mail server"
SECONDS_MAX = 60


class Names(BaseResolver):
    """A name server that knows one host, and counts who asks for it."""

    def __init__(self):
        self.asked = 0

    def resolve(self, request, handler):
        reply = request.reply()
        name = str(request.q.qname).rstrip(".")
        if name != MAIL_HOST:
            reply.header.rcode = 3
        elif request.q.qtype == 1:
            self.asked += 1
            reply.add_answer(*RR.fromZone(f"{MAIL_HOST}. 5 A {MAIL_ADDRESS}"))
        return reply


class Broker(threading.Thread):
    """Takes connections with TLS, and keeps how each handshake ended."""

    def __init__(self, certificate):
        super().__init__(daemon=True)
        self.handshakes = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.listener = socket.create_server((BROKER_ADDRESS, 9093))

    def run(self):
        while True:
            plain, _ = self.listener.accept()
            plain.settimeout(5)
            try:
                with self.context.wrap_socket(plain, server_side=True) as secure:
                    # The client says what it thinks of the certificate only with its first words.
                    self.handshakes.append("accepted" if secure.recv(1) else "closed")
            except (OSError, ssl.SSLError) as error:
                self.handshakes.append(getattr(error, "reason", None) or str(error))


class Image:
    """What a container engine would do with the image."""

    def __init__(self, root, config, scratch):
        self.root, self.config, self.scratch = root, config["config"], scratch
        self.user, self.group = self.config["User"].split(":")
        self.data = os.path.join(scratch, "data")
        os.mkdir(self.data)
        # Held by the tests, so that a second process of the same container sees it too.
        run("mount", "-t", "tmpfs", "-o", f"mode=0700,uid={self.owner(self.user)},gid={self.owner(self.group)}", "tidings", self.data)
        self.settings = os.path.join(scratch, "settings")
        os.mkdir(self.settings)
        # Engines make these themselves, also on a root that is then read-only.
        for name in ("proc", "dev", "catalogue", "settings"):
            os.makedirs(os.path.join(root, name), exist_ok=True)
        for name, text in (
            ("resolv.conf", "nameserver 127.0.0.1\n"),
            ("hosts", f"127.0.0.1 localhost\n{BROKER_ADDRESS} {BROKER_HOST}\n"),
        ):
            with open(os.path.join(root, "etc", name), "w", encoding="ascii") as file:
                file.write(text)

    def owner(self, number):
        """Root can be somebody else; anybody else is, within the container, whom the image names."""
        return number if self.is_root() else "0"

    @staticmethod
    def is_root():
        """Whether this is root of the machine, and not of a namespace with one user."""
        with open("/proc/self/uid_map", encoding="ascii") as file:
            return int(file.read().split()[2]) > 1

    def command(self, arguments, catalogue, environment=None, mounts=(), information=None):
        words = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--uid", self.user]
        words += ["--gid", self.group, "--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--clearenv"]
        if self.is_root():
            words[:0] = ["setpriv", f"--reuid={self.user}", f"--regid={self.group}", "--clear-groups"]
        wanted = dict(entry.split("=", 1) for entry in self.config["Env"])
        wanted.update(environment or {})
        for name, value in wanted.items():
            words += ["--setenv", name, value]
        words += ["--ro-bind", self.root, "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--bind", self.data, wanted["TIDINGS_DATA_DIR"], "--ro-bind", catalogue, "/catalogue"]
        words += ["--ro-bind", self.settings, "/settings"]
        for source, target in mounts:
            words += ["--ro-bind", source, target]
        words += ["--chdir", self.config["WorkingDir"]]
        if information is not None:
            words += ["--info-fd", str(information)]
        return words + ["--"] + arguments

    def call(self, arguments, catalogue, environment=None, seconds=SECONDS_MAX):
        """Runs the program beside the running one, as `exec` does; its exit code and output."""
        command = self.command(arguments, catalogue, environment)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False)
        return done.returncode, done.stdout.decode(errors="replace")


def run(*words):
    subprocess.run(words, check=True)


def wait_until(holds, what, seconds=SECONDS_MAX):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s: {what}")


def post(path, body, key):
    text = body if isinstance(body, str) else "".join(json.dumps(line) + "\n" for line in body)
    kind = "application/json" if isinstance(body, str) else "application/x-ndjson"
    headers = {"authorization": f"Bearer {key}", "content-type": kind}
    request = urllib.request.Request(ADDRESS + path, text.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from error


class Life:
    def __init__(self, root, config, catalogue, scratch):
        with open(config, encoding="utf-8") as file:
            self.image = Image(root, json.load(file), scratch)
        self.catalogue, self.scratch = catalogue, scratch
        self.program = self.image.config["Entrypoint"][0]
        self.passed = self.failed = 0
        self.child = self.pid = None
        self.mails = os.path.join(scratch, "mails")
        os.mkdir(self.mails)
        self.log = os.path.join(scratch, "log")

    def check(self, name, part):
        start = time.monotonic()
        try:
            note = part()
            self.passed += 1
            print(f"ok      {name} ({note or f'{time.monotonic() - start:.1f} s'})", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            self.failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)

    # --- what is around it -------------------------------------------------------------------------------------------

    def prepare_network(self):
        run("ip", "link", "set", "lo", "up")
        for address in (MAIL_ADDRESS, BROKER_ADDRESS):
            run("ip", "address", "add", f"{address}/32", "dev", "lo")
        self.names = Names()
        for tcp in (False, True):
            DNSServer(self.names, address="127.0.0.1", port=53, tcp=tcp, logger=DNSLogger("-request,-reply,-truncated,-error")).start_thread()
        self.prepare_certificates()
        words = [sys.executable, os.path.join(HERE, "../python/mail_server.py"), "--host", MAIL_ADDRESS, "--port", "587"]
        words += ["--folder", self.mails, "--tls", "starttls", "--certificate", self.path("mail.pem"), "--login", LOGIN]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n", "the mail server does not start"
        threading.Thread(target=server.stdout.read, daemon=True).start()
        self.broker = Broker(self.path("broker.pem"))
        self.broker.start()

    def path(self, name):
        return os.path.join(self.scratch, name)

    def prepare_certificates(self):
        """An authority of our own, and two servers that it vouches for."""
        quiet = {"check": True, "stderr": subprocess.DEVNULL, "cwd": self.scratch}
        new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        authority = ["-x509", "-days", "2", "-subj", "/CN=an authority", "-keyout", "ca.key", "-out", "ca.pem"]
        subprocess.run(new + authority, **quiet)
        for name, host in (("mail", MAIL_HOST), ("broker", BROKER_HOST)):
            asked = ["-x509", "-days", "2", "-CA", "ca.pem", "-CAkey", "ca.key", "-subj", f"/CN={host}"]
            asked += ["-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:FALSE"]
            subprocess.run(new + asked + ["-keyout", f"{name}.key", "-out", f"{name}.crt"], **quiet)
            with open(self.path(f"{name}.pem"), "w", encoding="ascii") as whole:
                for part in ("key", "crt"):
                    with open(self.path(f"{name}.{part}"), encoding="ascii") as file:
                        whole.write(file.read())
        shutil.copy(self.path("ca.pem"), self.image.settings)
        os.chmod(os.path.join(self.image.settings, "ca.pem"), 0o644)
        os.chmod(self.path("ca.pem"), 0o644)

    # --- its life ----------------------------------------------------------------------------------------------------

    def health(self):
        test = self.image.config["Healthcheck"]["Test"]
        assert test[0] == "CMD", f"a health check without a shell: {test}"
        return self.image.call(test[1:], self.catalogue)

    def is_unwell_before_it_runs(self):
        code, said = self.health()
        assert code == 4, f"{code}: {said}"

    def becomes_ready(self):
        settings = {
            "TIDINGS_LISTEN": "0.0.0.0:7280",
            "TIDINGS_API_KEY": API_KEY,
            "TIDINGS_PUBLIC_URL": "https://news.example.test",
            "TIDINGS_MAIL_WAYS": f"smtp://{LOGIN.replace(' ', '%20')}@{MAIL_HOST}:587",
            "TIDINGS_MAIL_CA": "/settings/ca.pem",
        }
        reader, writer = os.pipe()
        words = self.image.config["Entrypoint"] + ["up", "--catalogue", "/catalogue", "--demo"]
        command = self.image.command(words, self.catalogue, settings, information=writer)
        start = time.monotonic()
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[writer])
        os.close(writer)
        with os.fdopen(reader) as information:
            self.pid = json.load(information)["child-pid"]

        def is_ready():
            assert self.child.poll() is None, f"it ended with {self.child.returncode}: {self.said()}"
            return self.health() == (0, "ready\n")

        wait_until(is_ready, "it is not ready")
        return f"{time.monotonic() - start:.1f} s from its start"

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def status(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
            return next(line.split()[1:] for line in file if line.startswith(name + ":"))

    def is_nobody_special(self):
        seen = os.readlink(f"/proc/{self.pid}/exe")
        assert seen.endswith(self.program), f"it is {seen}"
        expected = [self.image.owner(self.image.user)] * 4
        assert self.status("Uid") == expected, f"users {self.status('Uid')}"
        assert self.status("Gid") == [self.image.owner(self.image.group)] * 4, f"groups {self.status('Gid')}"
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(self.status(name)[0], 16) == 0, f"{name} is {self.status(name)}"
        assert self.status("NoNewPrivs") == ["1"]
        assert self.status("NSpid")[-1] == "1", "it is not the first process of its namespace"
        return f"uid {self.image.user}, no capability, the first process of its namespace"

    def has_a_root_that_nobody_writes_to(self):
        with open(f"/proc/{self.pid}/mountinfo", encoding="ascii") as file:
            roots = [line.split() for line in file if line.split()[4] == "/"]
        assert "ro" in roots[-1][5].split(","), f"the root is mounted {roots[-1]}"
        # Even who may do anything is refused, so it is the mount and not a right that is missing.
        for place in ("", "tmp", "etc", "usr/local/bin", "var/lib"):
            try:
                with open(f"/proc/{self.pid}/root/{place}/new", "wb"):
                    raise AssertionError(f"/{place} was written to")
            except OSError as error:
                assert error.errno == 30, f"/{place}: {error}"
        code, said = self.image.call([self.program, "up", "--data-dir", "/tmp/data", "--catalogue", "/catalogue"], self.catalogue)
        assert code != 0 and "Read-only file system" in said, f"{code}: {said}"
        return "five places and the program's own try"

    def has_no_shell(self):
        for shell in ("/bin/sh", "/bin/bash", "/usr/bin/sh", "/busybox/sh", "sh"):
            code, said = self.image.call([shell, "-c", "echo here"], self.catalogue)
            assert code != 0 and "No such file or directory" in said, f"{shell}: {code} {said}"

    def sends_a_mail(self):
        wait_until(lambda: "demo data is in" in self.said(), "the demo's world is not in")
        with open(os.path.join(self.image.data, "admin.json"), encoding="utf-8") as file:
            token = json.load(file)["token"]
        follower = [
            {"id": "1", "source": "proof", "type": "tidings.profile", "person": "zoe", "name": "Zoë", "zone": "Europe/Berlin", "email": "zoe@example.org"},
            {"id": "2", "source": "proof", "type": "tidings.follow", "person": "zoe", "target": "artist:777"},
        ]
        change = {"id": "3", "source": "proof", "type": "artwork.published", "subject": "artwork:777", "title": "Aus dem Abbild", "artist": "artist:777", "published": True}
        for path, lines in (("/v1/facts", follower), ("/v1/changes", [change])):
            answer = post(path, lines, API_KEY)
            assert answer["rejected"] == [], f"{path}: {answer}"
        start = time.monotonic()
        post("/admin/clock", json.dumps({"to": "day"}), token)
        mail = wait_until(self.find_mail, f"no mail came; the house said: {self.said()[-2000:]}")
        local = mail["date"].datetime.astimezone(ZoneInfo("Europe/Berlin"))
        assert "Aus dem Abbild" in mail["subject"], mail["subject"]
        assert local.hour == 9 and local.minute <= 20, f"it is of {local}"
        assert self.names.asked > 0, "nobody asked the name server"
        return f"{time.monotonic() - start:.1f} s after the clock was moved, dated {local:%H:%M} in Berlin"

    def find_mail(self):
        """The mail to Zoë, which must have come by TLS and with the login."""
        for name in os.listdir(self.mails):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(self.mails, name), encoding="utf-8") as file:
                about = json.load(file)
            if "zoe@example.org" in about["to"]:
                assert about["tls"] and about["login"] == "herald", f"it came by {about}"
                path = os.path.join(self.mails, name.replace(".json", ".eml"))
                wait_until(lambda: os.path.exists(path), "its text is not there")
                with open(path, "rb") as file:
                    return email.message_from_binary_file(file, policy=email.policy.default)
        return None

    def ends_on_its_signal(self):
        start = time.monotonic()
        os.kill(self.pid, signal.Signals[self.image.config["StopSignal"]])
        code = self.child.wait(timeout=30)
        assert code == 0, f"it ended with {code}: {self.said()[-2000:]}"
        return f"{time.monotonic() - start:.1f} s, exit code 0"

    def is_unwell_after_it_ran(self):
        self.is_unwell_before_it_runs()

    # --- TLS of the brokers, which is OpenSSL's and trusts the file of the image -----------------------------------

    def broker_handshake(self, mounts):
        settings = {
            "TIDINGS_ENGINE": "production",
            "TIDINGS_CATALOGUE": "/catalogue",
            "TIDINGS_KAFKA_BROKERS": f"{BROKER_HOST}:9093",
            "TIDINGS_KAFKA_TLS": "true",
            "TIDINGS_CQL_CONTACT_POINTS": f"{BROKER_HOST}:9042",
        }
        self.broker.handshakes.clear()
        command = self.image.command([self.program, "migrate"], self.catalogue, settings, mounts)
        with open(self.path("migrate"), "wb") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            # One that broke off was of a process that was killed meanwhile.
            return wait_until(lambda: next((seen for seen in self.broker.handshakes if "reset by peer" not in seen), None), "nobody came")
        finally:
            child.kill()
            child.wait()

    def trusts_what_the_image_trusts(self):
        file = self.image.config["Env"]
        file = next(entry.split("=", 1)[1] for entry in file if entry.startswith("SSL_CERT_FILE="))
        strange = self.broker_handshake([])
        assert "UNKNOWN_CA" in strange, f"a broker whom nobody vouches for: {strange}"
        known = self.broker_handshake([(self.path("ca.pem"), file)])
        assert known == "accepted", f"a broker whom {file} vouches for: {known}"
        return "a stranger refused, a known one accepted"


def main():
    life = Life(*sys.argv[1:])
    life.prepare_network()
    life.check("the health check fails while nothing runs", life.is_unwell_before_it_runs)
    life.check("it becomes ready, as the health check of the image says", life.becomes_ready)
    life.check("it is its own user and may do nothing special", life.is_nobody_special)
    life.check("its root is read-only", life.has_a_root_that_nobody_writes_to)
    life.check("it has no shell", life.has_no_shell)
    life.check("a change becomes a mail, by a name from DNS, TLS and a login", life.sends_a_mail)
    life.check("it ends on its signal in good order", life.ends_on_its_signal)
    life.check("the health check fails after that", life.is_unwell_after_it_ran)
    life.check("brokers are believed by the image's certificates", life.trusts_what_the_image_trusts)
    print(f"{life.passed} passed, {life.failed} failed")
    return life.failed != 0


sys.exit(main())
