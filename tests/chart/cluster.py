"""Lives the life of a release on a real kube-apiserver, with its controllers and scheduler, and nodes that kwok plays.

    cluster.py BIN SCHEMAS

Installs the chart of the commit before into a namespace of the level `restricted`, upgrades it to this one, rolls it
back, scales it, drains a node, refuses a migration, applies every kind of object of the chart, and uninstalls it.
Nothing runs in the Pods: what a kubelet, a network or live metrics would do is not proved here.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/chart"
CHART = ROOT / "helm/tidings"
WAIT_SECS_MAX = 180
NAMESPACE = "news"
# Where the API has the kinds that are asked for.
PATHS = {
    "pods": "api/v1", "services": "api/v1", "serviceaccounts": "api/v1", "jobs": "apis/batch/v1", "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1", "poddisruptionbudgets": "apis/policy/v1", "networkpolicies": "apis/networking.k8s.io/v1",
    "kafkatopics": "apis/kafka.strimzi.io/v1",
}
DEFINITIONS = {
    "databases", "httproutes", "kafkatopics", "kafkausers", "podmonitors", "prometheusrules", "scaledobjects", "servicemonitors",
    "triggerauthentications",
}
RELEASE = "news"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, is_so, seconds=WAIT_SECS_MAX):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.CalledProcessError, OSError, json.JSONDecodeError, KeyError):
            if found := is_so():
                return found
        time.sleep(0.2)
    raise SystemExit(f"waited {seconds} s for: {what}")


class Cluster:
    """A control plane in a folder."""

    def __init__(self, tools, folder):
        self.tools, self.folder, self.processes = tools, folder, []
        self.kubeconfig = folder / "kubeconfig"
        self.environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(folder)}

    def spawn(self, name, *words):
        log = open(self.folder / f"{name}.log", "w")
        binary = self.tools / name
        process = subprocess.Popen(
            [str(binary if binary.exists() else name), *map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**self.environment, "KUBE_FEATURE_WatchListClient": "false"},
        )
        self.processes.append((name, process))

    def start(self):
        etcd, peers, port = free_port(), free_port(), free_port()
        key, token = self.folder / "accounts.key", secrets.token_hex(16)
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        self.address, self.token = f"https://127.0.0.1:{port}", token
        (self.folder / "tokens.csv").write_text(f"{token},admin,1,system:masters\n")
        self.spawn("etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", f"http://127.0.0.1:{etcd}", "--advertise-client-urls",
                   f"http://127.0.0.1:{etcd}", "--listen-peer-urls", f"http://127.0.0.1:{peers}", "--unsafe-no-fsync")
        self.spawn(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={self.folder}/certs",
            f"--token-auth-file={self.folder}/tokens.csv", "--authorization-mode=RBAC", "--service-account-issuer=https://tidings.example",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/16",
            # Watches that begin with a list need an etcd that is newer than Debian's: clients try them, wait, and try again.
            "--feature-gates=WatchList=false,WatchListClient=false",
        )
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here", "contexts": [{"name": "here", "context": {"cluster": "here", "user": "admin"}}],
            "clusters": [{"name": "here", "cluster": {"server": self.address, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "admin", "user": {"token": token}}],
        }))
        self.kubeconfig.chmod(0o600)
        wait_for("the API server", lambda: self.kubectl("get", "--raw", "/readyz") == "ok")
        common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        # Nodes send no signs of life: kwok plays them once.
        self.spawn("kube-controller-manager", *common, f"--service-account-private-key-file={key}", "--node-monitor-grace-period=1h",
                   f"--root-ca-file={self.folder}/certs/apiserver.crt")
        self.spawn("kube-scheduler", *common)
        self.spawn("kwok", f"--kubeconfig={self.kubeconfig}", "--manage-all-nodes=true", f"--config={HERE}/stages.yaml")

    def stop(self):
        for _, process in reversed(self.processes):
            process.terminate()
        end = time.monotonic() + 3
        for _, process in self.processes:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                # An API server drains for a minute; nobody waits for what it has.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def run(self, *words, check=True, **more):
        ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=self.environment, **more)
        if check and ran.returncode != 0:
            raise subprocess.CalledProcessError(ran.returncode, words, ran.stdout, ran.stderr[:2000])
        return ran

    def kubectl(self, *words, **more):
        return self.run(self.tools / "kubectl", *words, **more).stdout

    def get(self, kind, component=None):
        """Objects of a kind, asked for directly: a kubectl each time would be what the machine is busy with."""
        query = urllib.parse.urlencode({"labelSelector": f"app.kubernetes.io/component={component}"} if component else {})
        url = f"{self.address}/{PATHS[kind]}/namespaces/{NAMESPACE}/{kind}?{query}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=10) as answer:
            return json.load(answer)["items"]

    def apply(self, document):
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(document))

    def helm(self, *words, check=True):
        return self.run(self.tools / "helm", *words, "-n", NAMESPACE, check=check)


def chart_before(folder):
    """The chart of the commit before this one, or this one where nothing is known of any."""
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    is_changed = git("status", "--porcelain", "helm/tidings").stdout.strip()
    commits = git("log", "--format=%H", "-n", "2", "--", "helm/tidings").stdout.decode().split()
    commits = commits if is_changed else commits[1:]
    if not commits:
        return CHART, "this commit: there is none before"
    archive = git("archive", commits[0], "helm/tidings")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "helm/tidings", commits[0][:10]


def count_pods(chart):
    """How many Pods a release has: two of each room, and one keeper."""
    names = re.search(r'define "tidings.roomNames" -}}\n(.*?){{', (pathlib.Path(chart) / "templates/_names.tpl").read_text(), re.S)
    return 2 * len(names[1].split("\n- ")) - 1


def rooms(cluster):
    """Pods that are ready, by room; those that end are left out."""
    found = {}
    for pod in cluster.get("pods"):
        conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
        if pod["spec"]["restartPolicy"] == "Always" and not pod["metadata"].get("deletionTimestamp"):
            room = pod["metadata"]["labels"]["app.kubernetes.io/component"]
            found.setdefault(room, []).append((pod["spec"].get("nodeName"), conditions.get("Ready") == "True"))
    return found


class Watch(threading.Thread):
    """Notes the fewest ready Pods of each room for as long as it is open."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.fewest, self.is_over = cluster, {}, False

    def run(self):
        while not self.is_over:
            time.sleep(0.1)
            with contextlib.suppress(OSError):
                for room, pods in rooms(self.cluster).items():
                    ready = sum(is_ready for _, is_ready in pods)
                    self.fewest[room] = min(ready, self.fewest.get(room, ready))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()


class Life:
    """The steps, each with what must hold after it."""

    def __init__(self, cluster, folder):
        self.cluster, self.passed, self.failed = cluster, 0, 0
        self.old, self.origin = chart_before(folder / "before")
        self.values = ["-f", CHART / "ci/files-values.yaml", "--set", "roomDefaults.minReadySeconds=1"]

    def expect(self, what, found, wanted=True):
        if found == wanted:
            self.passed += 1
            print(f"  {what}")
        else:
            self.failed += 1
            print(f"  {what}: FAILED: {found}, not {wanted}")

    def step(self, name, run):
        start = time.monotonic()
        print(name, flush=True)
        try:
            run()
        except subprocess.CalledProcessError as error:
            self.expect(f"{' '.join(map(str, error.cmd[:3]))}", error.stderr.strip(), "")
        print(f"  {time.monotonic() - start:.1f} s", flush=True)

    def install(self, command, chart, *more):
        self.cluster.helm(command, RELEASE, chart, *self.values, *more, "--wait", "--timeout", f"{WAIT_SECS_MAX}s")

    def revision(self):
        return json.loads(self.cluster.helm("history", RELEASE, "-o", "json").stdout)[-1]

    def prepare(self):
        cluster = self.cluster
        for number, zone in enumerate("abc", 1):
            room = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
            name = f"n{number}"
            cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
                "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}}})
            cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"capacity": room, "allocatable": room}}))
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {
            f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}}})
        self.define()
        wait_for("three nodes", lambda: cluster.kubectl("get", "nodes", "--no-headers").count(" Ready ") == 3)
        wait_for("the account", lambda: cluster.get("serviceaccounts"))
        root = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root", "namespace": NAMESPACE},
                "spec": {"containers": [{"name": "root", "image": "x"}]}}
        refused = cluster.run(cluster.tools / "kubectl", "apply", "-f", "-", input=json.dumps(root), check=False)
        self.expect("the namespace refuses a Pod that is not restricted", "violates PodSecurity" in refused.stderr)

    def define(self):
        """The definitions of the custom resources that the chart makes."""
        folder = pathlib.Path(sys.argv[2]) / "crds/definitions"
        paths = [path for path in sorted(folder.glob("*.yaml")) if path.stem.split("_")[-1] in DEFINITIONS]
        items = [one for path in paths for one in yaml.safe_load_all(path.read_text()) if one]
        for one in items:
            # Definitions of a group of Kubernetes must say who approved them; these are generated from the types.
            one["metadata"].setdefault("annotations", {})["api-approved.kubernetes.io"] = "unapproved, generated for a test"
        self.cluster.apply({"apiVersion": "v1", "kind": "List", "items": items})

    def first(self):
        self.install("install", self.old)
        found = rooms(self.cluster)
        self.expect("two Pods of each room are ready, and one keeper", sum(is_ready for pods in found.values() for _, is_ready in pods), count_pods(self.old))
        self.expect("two Pods of a room are on two nodes", all(len({node for node, _ in found[room]}) == 2 for room in ("ingest", "fanout", "digest", "sender")))
        self.expect("the migration was done before", self.cluster.get("jobs")[0]["status"].get("succeeded"), 1)

    def upgrade(self):
        with Watch(self.cluster) as watch:
            self.install("upgrade", CHART, "--set", "config.limits.lag=5000", "--set", "rooms.digest.kind=StatefulSet")
        self.expect("the upgrade is deployed", self.revision()["status"], "deployed")
        self.expect("no room had fewer Pods ready meanwhile than it asks for", all(watch.fewest[room] >= 2 for room in ("ingest", "fanout", "sender")))
        names = {pod["metadata"]["name"] for pod in self.cluster.get("pods", "digest")}
        self.expect("digests have names that stay", names, {"news-tidings-digest-0", "news-tidings-digest-1"})

    def refused(self):
        before = {pod["metadata"]["name"] for pod in self.cluster.get("pods")}
        values = ["--set-string", r"commonLabels.example\.com/fails=true", "--set", "config.limits.lag=7000", "--set", "rooms.digest.kind=StatefulSet"]
        ran = self.cluster.helm("upgrade", RELEASE, CHART, *self.values, *values, "--wait", "--timeout", f"{WAIT_SECS_MAX}s", check=False)
        self.expect("a migration that is refused stops the upgrade", ran.returncode != 0)
        jobs = self.cluster.get("jobs")
        self.expect("exit code 3 is not tried again", (jobs[0]["status"].get("failed"), jobs[0]["status"]["conditions"][-1]["reason"]), (1, "PodFailurePolicy"))
        lasting = {pod["metadata"]["name"] for pod in self.cluster.get("pods") if pod["spec"]["restartPolicy"] == "Always"}
        self.expect("and no room was touched", lasting <= before)

    def rollback(self):
        self.cluster.helm("rollback", RELEASE, "1", "--wait", "--timeout", f"{WAIT_SECS_MAX}s")
        self.expect("the first revision is back", self.revision()["description"], "Rollback to 1")
        self.expect("digests are a Deployment again", [one["metadata"]["name"] for one in self.cluster.get("statefulsets")], [])
        self.expect("the old catalogue was migrated to before", self.cluster.get("jobs")[0]["status"].get("succeeded"), 1)

    def scale(self):
        self.install("upgrade", CHART, "--set", "rooms.sender.replicas=6")
        pods = rooms(self.cluster)["sender"]
        self.expect("six senders are ready", sum(is_ready for _, is_ready in pods), 6)
        nodes = [node for node, _ in pods]
        self.expect("two on each node", sorted(nodes.count(node) for node in set(nodes)), [2, 2, 2])
        self.install("upgrade", CHART)
        wait_for("the senders to go", lambda: len(rooms(self.cluster)["sender"]) == 2)
        self.expect("and two again", len(rooms(self.cluster)["sender"]), 2)

    def drain(self):
        with Watch(self.cluster) as watch:
            self.cluster.kubectl("drain", "n1", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
        self.expect("no room lost both Pods", all(watch.fewest[room] >= 1 for room in ("ingest", "fanout", "digest", "sender", "feed", "slots")))
        wait_for("all Pods again", lambda: sum(is_ready for pods in rooms(self.cluster).values() for _, is_ready in pods) == count_pods(CHART))
        self.expect("nothing is left on it", all(node != "n1" for pods in rooms(self.cluster).values() for node, _ in pods))
        self.cluster.kubectl("uncordon", "n1")

    def test(self):
        ran = self.cluster.helm("test", RELEASE, "--timeout", "60s", check=False)
        self.expect("the tests' Pods are admitted and end", (ran.returncode, ran.stderr.strip()), (0, ""))

    def command(self):
        job = self.cluster.helm("template", RELEASE, CHART, *self.values, "--show-only", "templates/command.yaml", "--kube-version", "1.36.3", "--set", "command.args={days,ann}").stdout
        self.cluster.kubectl("create", "-f", "-", input=job)
        find = lambda: [one for one in self.cluster.get("jobs", "command") if one["status"].get("succeeded")]
        self.expect("a command runs as a Job", len(wait_for("the command", find)), 1)
        self.cluster.kubectl("delete", "job", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=command")

    def uninstall(self):
        self.cluster.helm("uninstall", RELEASE, "--wait", "--timeout", f"{WAIT_SECS_MAX}s")
        wait_for("the Pods to go", lambda: rooms(self.cluster) == {})
        kinds = ("deployments", "statefulsets", "services", "poddisruptionbudgets")
        self.expect("nothing is left of the release", [one["metadata"]["name"] for kind in kinds for one in self.cluster.get(kind)], [])
        left = {one["metadata"]["name"] for kind in ("jobs", "networkpolicies", "serviceaccounts") for one in self.cluster.get(kind)}
        self.expect("but for the Job of the hook, with its log", left, {"news-tidings-migrate", "default"})

    def everything(self):
        """Every kind of object that the chart can make, checked by the API server itself."""
        self.apply_case("full", 13)
        for path in sorted((CHART / "ci").glob("*-values.yaml")):
            if not path.name.startswith("full"):
                self.apply_case(path.name.removesuffix("-values.yaml"))

    def apply_case(self, name, topics=None):
        values = ["-f", CHART / f"ci/{name}-values.yaml", "--set", "strimzi.namespace="]
        made = self.cluster.helm("install", "every", CHART, *values, "--no-hooks", check=False)
        self.expect(f"the API server takes all objects of {name}", (made.returncode, made.stderr.strip()[:600]), (0, ""))
        if topics:
            self.cluster.helm("uninstall", "every")
            kept = self.cluster.get("kafkatopics")
            self.expect("topics stay when the release goes", len(kept), topics)
        else:
            self.cluster.helm("uninstall", "every", check=False)
        for kind in ("kafkatopics.kafka.strimzi.io", "scyllaclusters.scylla.scylladb.com", "k8ssandraclusters.k8ssandra.io"):
            self.cluster.kubectl("delete", kind, "--all", "-n", NAMESPACE)


def main():
    # What was started is stopped, also when somebody stops us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tools = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(tools, folder)
        start = time.monotonic()
        try:
            cluster.start()
            print(f"the control plane is ready in {time.monotonic() - start:.1f} s")
            life = Life(cluster, folder)
            life.step("prepare: nodes, a namespace of the level restricted, definitions", life.prepare)
            life.step(f"install the chart of {life.origin}", life.first)
            life.step("upgrade to this one", life.upgrade)
            life.step("an upgrade whose migration is refused", life.refused)
            life.step("roll back", life.rollback)
            life.step("scale up and down", life.scale)
            life.step("drain a node", life.drain)
            life.step("helm test", life.test)
            life.step("one command", life.command)
            life.step("uninstall", life.uninstall)
            life.step("all kinds of objects", life.everything)
        except SystemExit:
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}\n" + "\n".join(log.read_text().splitlines()[-8:]))
            raise
        finally:
            cluster.stop()
    print(f"{life.passed} passed, {life.failed} failed")
    return 1 if life.failed else 0


if __name__ == "__main__":
    sys.exit(main())
