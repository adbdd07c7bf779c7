"""Lints and renders the chart over a matrix of values, and checks what comes out.

    matrix.py BIN SCHEMAS [PROGRAM]

BIN is the folder of the tools and SCHEMAS that of the schemas, as setup/chart.sh makes them. Without the schemas of
custom resources only the kinds of Kubernetes itself are checked by a schema. With PROGRAM, the binary
`tidings`, each file of settings is read by the program itself. Then faults are planted into what was rendered, and each
must be found.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm/tidings"
KUBERNETES = "1.36.3"
ROOMS = ["ingest", "fanout", "digest", "sender", "feed", "slots", "keeper"]
LABELS = [f"app.kubernetes.io/{name}" for name in ("name", "instance", "version", "component", "part-of", "managed-by")] + ["helm.sh/chart"]
# Keys of KEDA's Kafka trigger: a definition of KEDA takes any.
TRIGGER = {
    "bootstrapServers", "consumerGroup", "topic", "lagThreshold", "activationLagThreshold", "offsetResetPolicy",
    "allowIdleConsumers", "excludePersistentLag", "limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions",
    "partitionLimitation", "version", "sasl", "tls", "unsafeSsl", "scaleToZeroOnInvalidOffset",
}


class Loader(yaml.CSafeLoader):
    """Refuses a key that stands twice in a map: Helm would take the last one silently."""


def unique(loader, node):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"`{key}` stands twice", node.start_mark)
    return {loader.construct_object(key, deep=True): loader.construct_object(value, deep=True) for key, value in node.value}


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, unique)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def cases():
    """Values by name: each of ci/, and the sizes over the least."""
    least = CHART / "ci/minimal-values.yaml"
    found = {path.name.removesuffix("-values.yaml"): [path] for path in sorted(CHART.glob("ci/*-values.yaml"))}
    for size in sorted(CHART.glob("values-*.yaml")):
        found[size.stem.removeprefix("values-")] = [least, size]
    return found


def settings_known():
    """The settings and variables of the reference."""
    text = (ROOT / "docs/reference/configuration.md").read_text()
    rows = re.findall(r"^\| `([a-z_.]+)` \|\s*([^|]+?)\s*\|", text, re.M)
    names = {name for name, _ in rows}
    secret = {name for name, form in rows if form == "secret"}
    return names | {f"{name}_file" for name in secret}, {"TIDINGS_" + name.upper().replace(".", "_") for name in names} | {"TIDINGS_CONFIG"}


KNOWN, VARIABLES = settings_known()


def leaves(tree, above=""):
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and path not in KNOWN:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def pods(document):
    """The metadata and the spec of each Pod in an object."""
    kind = document["kind"]
    if kind == "Pod":
        yield document["metadata"], document["spec"]
    elif kind in ("Deployment", "StatefulSet", "Job"):
        yield document["spec"]["template"]["metadata"], document["spec"]["template"]["spec"]


def check_pod(spec):
    """What the level `restricted` asks for, and what we ask for beside it."""
    if spec.get("automountServiceAccountToken") is not False:
        yield "gets a token of the account"
    if not spec.get("securityContext", {}).get("runAsNonRoot"):
        yield "may run as root"
    for volume in spec.get("volumes", []):
        if set(volume) - {"name", "configMap", "secret", "projected", "emptyDir", "image"}:
            yield f"has the volume {volume['name']} of a kind that Pods would share, or that `restricted` refuses"
    for container in spec["containers"] + spec.get("initContainers", []):
        security = container.get("securityContext", {})
        wanted = {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        }
        for name, value in wanted.items():
            if security.get(name) != value:
                yield f"{container['name']}: {name} is not {value}"
        if not container.get("resources", {}).get("requests") or not container["resources"].get("limits", {}).get("memory"):
            yield f"{container['name']} has no requests, or no limit of memory"
        for variable in container.get("env", []):
            if variable["name"].startswith("TIDINGS_") and variable["name"] not in VARIABLES:
                yield f"{container['name']} has {variable['name']}, which the program does not know"


def check_objects(documents):
    """What no schema knows: a line for each thing that is wrong."""
    names = set()
    for document in documents:
        kind, metadata = document["kind"], document["metadata"]
        where = f"{kind}/{metadata['name']}"
        if where in names:
            yield f"{where} stands twice"
        names.add(where)
        labels = metadata.get("labels") or {}
        is_ours = any(name.startswith("app.kubernetes.io") for name in labels)
        if is_ours:
            for label in set(LABELS) - set(labels):
                yield f"{where} lacks the label {label}"
        if kind == "Secret":
            yield f"{where}: the chart makes no Secrets"
        if kind == "PersistentVolumeClaim":
            yield f"{where}: nothing shares a disk"
        for pod_metadata, spec in pods(document):
            for label in set(LABELS) - set(pod_metadata.get("labels", {})):
                yield f"{where}: its Pods lack the label {label}"
            yield from (f"{where} {what}" for what in check_pod(spec))
            if kind in ("Deployment", "StatefulSet"):
                program = spec["containers"][0]
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    if probe not in program:
                        yield f"{where} has no {probe}"
                wait = program.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
                if spec["terminationGracePeriodSeconds"] < wait + 20:
                    yield f"{where} is killed before it has drained"
        if kind == "ConfigMap":
            for name, text in document.get("data", {}).items():
                if name.removesuffix(".yaml") in ROOMS + ["migrate"]:
                    for path, value in leaves(yaml.safe_load(text)):
                        if path not in KNOWN:
                            yield f"{where}: the program does not know `{path}` of {name}"
        if kind == "PrometheusRule":
            yield from check_rules(document)
        if kind == "ScaledObject":
            for trigger in document["spec"]["triggers"]:
                for key in set(trigger["metadata"]) - TRIGGER if trigger["type"] == "kafka" else ():
                    yield f"{where}: KEDA ignores `{key}`"
    targets = [d["spec"].get("scaleTargetRef", {}).get("name") for d in documents if d["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")]
    for target in {name for name in targets if targets.count(name) > 1}:
        yield f"two scale {target}"
    for document in documents:
        if document["kind"] in ("Deployment", "StatefulSet") and document["metadata"]["name"] in targets and "replicas" in document["spec"]:
            yield f"{document['metadata']['name']} has a number of Pods of its own beside what scales it"


def read_by_program(program, documents):
    """Has the program read the settings of each room, with a file for each secret."""
    for document in documents:
        if document["kind"] != "ConfigMap" or "ingest.yaml" not in document.get("data", {}):
            continue
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            secrets = base / "secrets"
            secrets.mkdir()
            for name, text in document["data"].items():
                for file in re.findall(r"/etc/tidings/secrets/([a-z0-9-]+)", text):
                    (secrets / file).write_text(SAMPLES.get(file, "0123456789abcdef" + file))
                settings = base / name
                settings.write_text(text.replace("/etc/tidings", folder).replace("/var/lib/tidings", f"{folder}/data"))
                environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
                ran = run(program, "config", "--config", settings, env=environment, cwd=folder)
                if ran.returncode != 0:
                    yield f"the program refuses {name}: {ran.stderr.strip()}"


SAMPLES = {
    "link": "00" * 32, "traces-headers": "x-api-key: 0123", "hooks-secret": "h" * 40, "mail-ways": "smtp://tidings:word@smtp.example.net:587",
    "fcm-account": '{"type":"service_account","project_id":"p","private_key_id":"1","private_key":"k","client_email":"a@example.com","token_uri":"https://oauth2.example.com/token"}',
}


def conform(tools, schemas, documents):
    text = "\n---\n".join(json.dumps(document) for document in documents)
    missing = [] if (schemas / "crds").exists() else ["-ignore-missing-schemas"]
    return run(
        tools / "kubeconform", "-strict", "-summary", *missing, "-schema-location", f"{schemas}/core/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
        "-schema-location", f"{schemas}/crds/{{{{.Group}}}}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json", "-", input=text,
    )


def find(documents, kind, ending=""):
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"].endswith(ending))


def check_rules(document):
    """Has promtool read the alerts as they are rendered: no schema knows PromQL."""
    if not (promtool := shutil.which("promtool")):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(document["spec"], file)
        file.flush()
        ran = run(promtool, "check", "rules", file.name)
        if ran.returncode != 0:
            yield f"promtool: {ran.stdout}{ran.stderr}"


def check_dashboards(tools):
    """Puts a dashboard into a copy of the chart: it must come out as it went in, beside those that are there."""
    with tempfile.TemporaryDirectory() as folder:
        chart = pathlib.Path(folder) / "tidings"
        shutil.copytree(CHART, chart)
        panels = {"title": "{{ not a template }}", "panels": [{"title": "a"}]}
        (chart / "files/dashboards/Some_Thing.json").write_text(json.dumps(panels, indent=2))
        made = run(tools / "helm", "template", "news", chart, "--kube-version", KUBERNETES, "-f", CHART / "ci/full-values.yaml")
        if made.returncode != 0:
            return [made.stderr]
        documents = [document for document in yaml.load_all(made.stdout, Loader) if document]
        try:
            found = find(documents, "ConfigMap", "-dashboard-some-thing")
        except StopIteration:
            return ["no ConfigMap"]
        wrong = [] if json.loads(found["data"]["Some_Thing.json"]) == panels else ["it came out otherwise"]
        return wrong + ([] if found["metadata"]["labels"].get("grafana_dashboard") == "1" else ["the sidecar does not see it"])


# A fault, and what makes it. Each must be found by kubeconform or by the checks above.
def planted():
    pod = lambda documents, kind="Deployment", ending="-sender": next(pods(find(documents, kind, ending)))[1]
    container = lambda documents, **where: pod(documents, **where)["containers"][0]
    return {
        "maxUnavailable is misspelt": lambda d: find(d, "PodDisruptionBudget")["spec"].update(maxUnavailble=1),
        "a port is a text": lambda d: container(d)["ports"][0].update(containerPort="7280"),
        "a probe is misspelt": lambda d: container(d).update(readynessProbe={}),
        "replicas of a ScaledObject are misspelt": lambda d: find(d, "ScaledObject")["spec"].update(maxReplicas=3),
        "an interval has no unit": lambda d: find(d, "ServiceMonitor")["spec"]["endpoints"][0].update(interval="30x"),
        "partitions are a text": lambda d: find(d, "KafkaTopic")["spec"].update(partitions="64"),
        "operations are misspelt": lambda d: find(d, "KafkaUser")["spec"]["authorization"]["acls"][0].update(operatoins=[]),
        "a rule has no expression": lambda d: find(d, "PrometheusRule")["spec"]["groups"][0]["rules"][0].pop("expr"),
        "a route has a path of no kind": lambda d: find(d, "HTTPRoute")["spec"]["rules"][0]["matches"][0]["path"].update(type="Regex"),
        "a policy has a type that is none": lambda d: find(d, "NetworkPolicy")["spec"].update(policyTypes="Ingress"),
        "the Job restarts its Pods": lambda d: find(d, "Job")["spec"]["template"]["spec"].update(restartPolicies="Never"),
        "an ingress has no type of path": lambda d: find(d, "Ingress")["spec"]["rules"][0]["http"]["paths"][0].pop("pathType"),
        "an HPA has no target": lambda d: find(d, "HorizontalPodAutoscaler")["spec"].pop("scaleTargetRef"),
        "two scale one room": lambda d: find(d, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"].update(name=find(d, "ScaledObject")["spec"]["scaleTargetRef"]["name"]),
        "a trigger's key is misspelt": lambda d: find(d, "ScaledObject")["spec"]["triggers"][0]["metadata"].update(lagThreshhold="5"),
        "a container may write to its image": lambda d: container(d)["securityContext"].update(readOnlyRootFilesystem=False),
        "a container keeps its capabilities": lambda d: container(d)["securityContext"].pop("capabilities"),
        "a test runs as root": lambda d: pod(d, kind="Pod", ending="-test-ready")["securityContext"].update(runAsNonRoot=False),
        "a variable is misspelt": lambda d: container(d)["env"].append({"name": "TIDINGS_KAFKA_BROKER", "value": "x"}),
        "a setting is misspelt": lambda d: find(d, "ConfigMap", "-config")["data"].update({"sender.yaml": "kafka: {broker: x}"}),
        "a volume is shared": lambda d: pod(d)["volumes"].append({"name": "outbox", "persistentVolumeClaim": {"claimName": "outbox"}}),
        "a Pod is killed while it drains": lambda d: pod(d).update(terminationGracePeriodSeconds=10),
        "a label is missing": lambda d: find(d, "Deployment", "-sender")["metadata"]["labels"].pop("helm.sh/chart"),
        **({"an expression is broken": lambda d: find(d, "PrometheusRule")["spec"]["groups"][0]["rules"][0].update(expr="max by (")} if shutil.which("promtool") else {}),
        "a Secret is made": lambda d: d.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
    }


# Those that only the schema of a custom resource finds.
OF_CUSTOM_RESOURCES = {
    "replicas of a ScaledObject are misspelt", "an interval has no unit", "partitions are a text", "operations are misspelt",
    "a rule has no expression", "a route has a path of no kind",
}


def main():
    tools, schemas = (pathlib.Path(path) for path in sys.argv[1:3])
    program = sys.argv[3] if len(sys.argv) > 3 else None
    passed, failed = 0, 0
    rendered = {}

    def tell(name, wrong):
        nonlocal passed, failed
        if wrong:
            failed += 1
            print(f"{name}: FAILED\n  " + "\n  ".join(wrong))
        else:
            passed += 1

    for name, files in cases().items():
        flags = [word for file in files for word in ("-f", file)]
        linted = run(tools / "helm", "lint", "--strict", CHART, "--kube-version", KUBERNETES, *flags)
        made = run(tools / "helm", "template", "news", CHART, "-n", "news", "--kube-version", KUBERNETES, *flags)
        wrong = [] if linted.returncode == 0 else [linted.stdout.strip()]
        if made.returncode != 0:
            tell(name, [*wrong, made.stderr.strip()])
            continue
        documents = [document for document in yaml.load_all(made.stdout, Loader) if document]
        rendered[name] = documents
        wrong += check_objects(documents)
        if program:
            wrong += read_by_program(program, documents)
        tell(name, wrong)
    tell("dashboards", check_dashboards(tools))
    conforms = conform(tools, schemas, [document for documents in rendered.values() for document in documents])
    tell("kubeconform", [] if conforms.returncode == 0 else [conforms.stdout + conforms.stderr])
    count = sum(len(documents) for documents in rendered.values())
    full = rendered.get("full", [])
    faults = planted()
    if not (schemas / "crds").exists():
        # Nothing here knows these kinds: `setup/chart.sh schemas` makes their schemas.
        faults = {name: plant for name, plant in faults.items() if name not in OF_CUSTOM_RESOURCES}
    for fault, plant in faults.items():
        documents = copy.deepcopy(full)
        plant(documents)
        changed = [document for document in documents if document not in full]
        found = list(check_objects(documents)) or conform(tools, schemas, changed).returncode != 0
        tell(f"planted: {fault}", [] if found else ["nothing finds it"])
    by = "; the program read all settings" if program else "; no program was there to read the settings"
    print(f"matrix: {len(rendered)} sets of values, {count} objects, {len(faults)} planted faults{by}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
