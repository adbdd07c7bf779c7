"""Makes helm/tidings/values.schema.json: `values_schema.py` writes it, `values_schema.py --check` says whether it is up to date.

The settings below `config` come from the table of docs/reference/configuration.md, so the chart knows no setting that the
program does not know; the thresholds come from the alerts. Every object is closed: a misspelt value is one that does nothing.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference/configuration.md"
SCHEMA = ROOT / "helm/tidings/values.schema.json"
ALERTS = ROOT / "helm/tidings/files/alerts.yaml"

# What the chart sets itself, and what is secret. `kafka.instance` is the name of a Pod.
OF_THE_CHART = {
    "data_dir", "engine", "listen", "catalogue", "canary.catalogue", "canary.share", "api_keys", "access_tokens", "server", "token", "ca_file", "secret", "outbox", "demo", "mail.ways", "mail.ca",
    "mail.dkim", "mail.intake", "push.ca", "apns.key", "fcm.account", "webpush.key", "hooks.secret", "hooks.ca",
    "kafka.instance", "kafka.password", "kafka.ca", "kafka.certificate", "kafka.key", "cql.password", "cql.ca",
    "cql.certificate", "cql.key", "registry.password", "registry.ca", "traces.headers", "traces.ca",
}

EXAMPLES = {
    "public_url": "https://news.example.com", "tenant": "main", "partitions": 64, "day_life": 90, "disk_reserve": "256 MiB",
    "mail.name": "tidings.example.com", "mail.returns": "returns.example.com", "mail.provider": "ses",
    "apns.key_id": "ABC123DEFG", "apns.team_id": "DEF123GHIJ", "apns.topic": "com.example.app",
    "webpush.subject": "mailto:ops@example.com", "webpush.hosts": ["push.example.com"],
    "hooks.channels": ["webhook"], "hooks.hosts": ["hooks.example.com"], "presence.url": "http://presence:8080/connected", "person_tokens": [{"issuer": "https://login.example.com", "keys_url": "https://login.example.com/jwks.json"}], "geoip.database": "/geoip/GeoLite2-City.mmdb",
    "log.filter": "info,digest=debug", "kafka.brokers": "kafka-1:9092,kafka-2:9092", "kafka.prefix": "tidings.",
    "kafka.user": "tidings", "kafka.session": "45s", "kafka.properties": {"socket.keepalive.enable": "true"},
    "cql.contact_points": "cql-1:9042,cql-2:9042", "cql.keyspace": "tidings", "cql.datacenter": "dc1",
    "cql.replication": {"dc1": 3}, "cql.user": "tidings", "registry.url": "https://registry:8081", "registry.user": "tidings",
    "traces.endpoint": "http://collector:4318", "traces.sample": "1%", "tenants.weights": {"acme": 4}, "tenants.places": {"acme": 32},
}


def text(**more):
    return {"type": "string", **more}


def closed(properties, required=(), **more):
    schema = {"type": "object", "additionalProperties": False, "properties": properties, **more}
    return {**schema, "required": list(required)} if required else schema


def listed(items, **more):
    return {"type": "array", "items": items, **more}


def number(minimum=0, maximum=None, **more):
    return {"type": "integer", "minimum": minimum, **({"maximum": maximum} if maximum is not None else {}), **more}


FLAG = {"type": "boolean"}
OBJECT = {"type": "object"}
OBJECTS = listed(OBJECT)
STRINGS = listed(text())
LABELS = {"type": "object", "additionalProperties": text()}
# A name that Kubernetes takes for an object; empty for none.
NAME = text(maxLength=253, pattern="^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$")
GIVEN_NAME = text(minLength=1, maxLength=253, pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
KEY = text(minLength=1, pattern="^[-._a-zA-Z0-9]+$")
QUANTITY = {"anyOf": [{"type": "string", "pattern": r"^[0-9.]+([a-zA-Z]*)$"}, {"type": "number"}]}
DURATION = text(pattern="^([0-9]+(ms|s|m|h|d))+$")
PORT = number(1, 65535)
PORTS = listed(PORT)
PATHS = listed(text(pattern="^/"), minItems=1)
ROOM_PATHS = listed(text(pattern="^/"))
# A duration of the Gateway API.
TIMEOUT = text(pattern="^([0-9]{1,5}(h|m|s|ms)){1,4}$")
AMOUNTS = {"type": "object", "additionalProperties": QUANTITY}
RESOURCES = closed({"requests": AMOUNTS, "limits": AMOUNTS, "claims": OBJECTS})


def setting(name, form):
    """The schema of one setting, by the words of the reference."""
    words = re.findall(r"`([^`]+)`", form)
    address = r"[^\s,:]+:[0-9]+"
    if name in ("kafka.brokers", "cql.contact_points"):
        return {"anyOf": [text(pattern=rf"^{address}(,\s*{address})*$"), listed(text(pattern=f"^{address}$"), minItems=1)]}
    if name == "person_tokens":
        # One of both is needed; the house says which is missing.
        keys = {"keys_file": text(pattern="^/"), "keys_url": text(pattern="^https://[^/]")}
        origins = listed(text(pattern="^https://[^/]+$"))
        words = {"tenant": text(minLength=1), "issuer": text(minLength=1), "audience": text(minLength=1)}
        return listed(closed({**words, **keys, "origins": origins}, required=["issuer"]))
    if form == "list":
        return {"anyOf": [text(), STRINGS]}
    if form == "map" and name.startswith("tenants."):
        return {"type": "object", "additionalProperties": number(1, 1000 if name == "tenants.weights" else 100_000)}
    if form == "map":
        return {"type": "object", "additionalProperties": {"type": ["string", "integer", "number", "boolean"]}}
    if name == "day_life":
        return number(21, 400)
    if form == "whole number":
        # 0 partitions, brokers or requests make no sense, and neither does a limit of 0.
        return number(1)
    if form == "number above 0":
        return {"type": "number", "exclusiveMinimum": 0}
    if form == "`true` or `false`":
        return FLAG
    if form.startswith("time such as"):
        return DURATION
    if form.startswith("size such as"):
        return text(pattern=r"^[0-9]+ ?([KMGT]i?)?B?$")
    if form.startswith("share such as"):
        return text(pattern=r"^([0-9]+(\.[0-9]+)?%|off)$")
    if form == "address":
        # Readers of mails are elsewhere, so their address is https.
        return text(pattern="^https://[^/]" if name == "public_url" else "^https?://[^/]")
    if " or `" in form or (form.startswith("`") and len(words) > 1):
        return {"enum": words}
    if form == "path":
        return text(pattern="^/")
    if form == "text":
        return text(minLength=1) if name != "kafka.prefix" else text(pattern="^[-._a-zA-Z0-9]*$", maxLength=100)
    raise SystemExit(f"values_schema.py knows no `{form}`, the form of {name}")


def settings():
    """All settings of the reference but those of the chart, as a tree."""
    tree = closed({}, required=["public_url", "kafka", "cql"])
    row = re.compile(r"^\| `([a-z_.]+)` \|([^|]+)\|([^|]*)\|(.+)\|$")
    found = set()
    for line in REFERENCE.read_text().splitlines():
        match = row.match(line)
        if not match:
            continue
        name, form, default, help_text = (part.strip() for part in match.groups())
        found.add(name)
        if name in OF_THE_CHART:
            continue
        schema = {"description": help_text, **setting(name, form)}
        if name in EXAMPLES:
            schema["examples"] = [EXAMPLES[name]]
        elif default:
            schema["examples"] = [json.loads(default.strip("`")) if schema.get("type") in ("integer", "boolean") else default.strip("`")]
        at = tree["properties"]
        *sections, last = name.split(".")
        for section in sections:
            at = at.setdefault(section, closed({}))["properties"]
        at[last] = schema
    unknown = OF_THE_CHART - found
    if unknown:
        raise SystemExit(f"{REFERENCE.name} has no {', '.join(sorted(unknown))}")
    tree["properties"]["kafka"]["required"] = ["brokers"]
    tree["properties"]["cql"]["required"] = ["contact_points"]
    return tree


def secret(default, more=(), **properties):
    return closed({"existingSecret": NAME, **properties}, examples=[{"existingSecret": "tidings", **default}])


def secrets():
    plain = lambda key: secret({"key": key}, key=KEY)
    authority = closed({"existingSecret": NAME, "existingConfigMap": NAME, "key": KEY}, examples=[{"existingConfigMap": "trust", "key": "ca.crt"}])
    # One of the two, not both.
    authority["not"] = {"properties": {"existingSecret": {"minLength": 1}, "existingConfigMap": {"minLength": 1}}}
    certificate = secret({"certificateKey": "tls.crt", "keyKey": "tls.key"}, certificateKey=KEY, keyKey=KEY)
    api_key = closed({"tenant": text(minLength=1), "existingSecret": GIVEN_NAME, "key": KEY}, required=["tenant", "existingSecret"])
    access_token = closed({"role": {"enum": ["read", "operate"]}, "existingSecret": GIVEN_NAME, "key": KEY}, required=["role", "existingSecret"])
    given = lambda schema: {**schema, "properties": {**schema["properties"], "existingSecret": GIVEN_NAME}, "required": ["existingSecret"]}
    return closed({
        "link": given(plain("link")),
        "apiKeys": listed(api_key, minItems=1, examples=[[{"tenant": "main", "existingSecret": "tidings", "key": "api-key"}]]),
        "accessTokens": listed(access_token, examples=[[{"role": "operate", "existingSecret": "tidings", "key": "operate-token"}]]),
        "metrics": given(secret({"key": "metrics-key"}, key=KEY)),
        "kafkaPassword": secret({"key": "password"}, key=KEY, usernameKey=text(pattern="^[-._a-zA-Z0-9]*$")),
        "kafkaCa": authority, "kafkaCertificate": certificate,
        "cqlPassword": plain("password"), "cqlCa": authority, "cqlCertificate": certificate,
        "registryPassword": plain("password"), "registryCa": authority,
        "tracesHeaders": plain("headers"), "tracesCa": authority,
        "mailWays": plain("ways"), "mailCa": authority,
        "dkim": secret({}, items=listed(closed({"key": KEY, "path": text(minLength=1)}, required=["key", "path"]))),
        "apnsKey": plain("key.p8"), "fcmAccount": plain("account.json"), "webpushKey": plain("vapid.pem"), "pushCa": authority,
        "hooksSecret": plain("secret"), "hooksCa": authority,
    }, required=["link", "apiKeys", "metrics"])


def catalogue():
    config_map = closed({
        "name": GIVEN_NAME, "optional": FLAG, "items": listed(closed({"key": KEY, "path": text(minLength=1), "mode": number()}, required=["key", "path"])),
    }, required=["name"])
    when = lambda source, **rules: {
        "if": {"properties": {"source": {"const": source}}, "required": ["source"]}, "then": {"properties": rules, "required": list(rules)},
    }
    return closed({
        "source": {"enum": ["files", "configMaps", "image", "git"]},
        "subPath": text(pattern="^([^/].*)?$", examples=["catalogue"]),
        "canary": closed({
            "subPath": text(pattern="^([^/].*)?$", examples=["catalogue-next"]),
            "share": text(pattern="^(off|[0-9]+([.][0-9]{1,3})?%)$", examples=["5%", "0.5%"]),
        }),
        "files": {"type": "object", "propertyNames": {"pattern": "^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$"}, "additionalProperties": text()},
        "configMaps": listed(config_map, examples=[[{"name": "catalogue"}]]),
        "image": closed({"reference": text(examples=["registry.example.com/catalogue@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]), "pullPolicy": PULL}),
        "git": closed({
            "repository": text(examples=["https://git.example.com/catalogue.git"]), "ref": text(examples=["v12"]), "image": text(minLength=1),
            "existingSecret": NAME, "sidecar": FLAG, "period": DURATION, "resources": RESOURCES,
        }),
    }, required=["source"], allOf=[
        when("files", files={"required": ["catalogue.yaml"]}),
        when("configMaps", configMaps={"minItems": 1}),
        when("image", image={"properties": {"reference": {"minLength": 1}}, "required": ["reference"]}),
        when("git", git={"properties": {"repository": {"minLength": 1}, "ref": {"minLength": 1}}, "required": ["repository", "ref"]}),
    ])


DIGEST = text(pattern="^(sha256:[0-9a-f]{64})?$")
PULL = {"enum": ["Always", "IfNotPresent", "Never"]}
# Keys of KEDA's Kafka trigger that the chart does not set itself. KEDA takes any text there and ignores what it does not know.
TRIGGER = {
    name: {"type": ["string", "integer", "boolean"]}
    for name in ("activationLagThreshold", "limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions", "partitionLimitation", "version", "unsafeSsl", "scaleToZeroOnInvalidOffset")
}
PROBE = closed({name: number(1) for name in ("periodSeconds", "timeoutSeconds", "failureThreshold", "successThreshold")} | {"initialDelaySeconds": number()})


def room():
    scaling = closed({
        "kind": {"enum": ["none", "hpa", "keda"], "description": "one of them, so that two never fight over a room"},
        # Windows close and retries come by time: a room without a Pod sees neither, and no lag wakes it.
        "minReplicas": number(1, examples=[2]), "maxReplicas": number(1, examples=[8]),
        "metrics": OBJECTS, "lagThreshold": number(1, examples=[1000]), "trigger": closed(TRIGGER, examples=[{"activationLagThreshold": 50}]),
        "extraTriggers": listed(closed({"type": text(), "name": text(), "metadata": LABELS, "metricType": text(), "authenticationRef": OBJECT}, required=["type", "metadata"])),
        "pollingInterval": number(1), "behavior": OBJECT,
    })
    spread = {"type": "object", "required": ["maxSkew", "topologyKey", "whenUnsatisfiable"]}
    return closed({
        "image": closed({"tag": text(examples=["0.1.0"]), "digest": DIGEST}),
        "kind": {"enum": ["Deployment", "StatefulSet"]}, "replicas": number(1, 1000, examples=[2]), "autoscaling": scaling, "resources": RESOURCES,
        "preStopSeconds": number(0, 600), "terminationGracePeriodSeconds": number(20, 3600, examples=[45]),
        "strategy": OBJECT, "minReadySeconds": number(), "revisionHistoryLimit": number(), "dataSizeLimit": QUANTITY,
        "probes": closed({
            "startup": PROBE, "liveness": PROBE,
            "readiness": {**PROBE, "properties": {**PROBE["properties"], "timeoutSeconds": number(3, description="the program answers within 2 s")}},
        }),
        "podDisruptionBudget": closed({"enabled": FLAG, "maxUnavailable": {"anyOf": [number(1), text(pattern="^[1-9][0-9]?%$")]}}),
        "topologySpread": listed(spread), "affinity": OBJECT, "nodeSelector": LABELS, "tolerations": OBJECTS, "priorityClassName": text(),
        "podAnnotations": LABELS, "podLabels": LABELS, "extraEnv": OBJECTS, "extraVolumes": OBJECTS, "extraVolumeMounts": OBJECTS,
    })


def alerts():
    return set(re.findall(r"- alert: (\w+)", ALERTS.read_text()))


def thresholds():
    """Each number and time of the alerts that has a name."""
    found = {}
    for value, name in re.findall(r"(\S+) # ([a-zA-Z]+)$", ALERTS.read_text(), re.M):
        found[name] = DURATION if value[-1] in "smhd" else {"type": "number", "minimum": 0}
    return found


def values():
    every = room()
    ref = {"$ref": "#/$defs/room"}
    # There is one keeper, and it is not scaled.
    keeper = {**every, "properties": {name: schema for name, schema in every["properties"].items()
                                      if name not in ("kind", "replicas", "autoscaling", "podDisruptionBudget", "topologySpread", "strategy")}}
    # These two share no partitions, so they need no names, and no lag says how busy they are.
    scaling = every["properties"]["autoscaling"]["properties"]
    shown = ("kind", "minReplicas", "maxReplicas", "metrics", "behavior")
    shares_none = {**every, "properties": {name: schema for name, schema in every["properties"].items() if name != "kind"}}
    shares_none["properties"]["autoscaling"] = closed({name: scaling[name] for name in shown} | {"kind": {"enum": ["none", "hpa"]}})
    monitor = closed({"enabled": FLAG, "labels": LABELS, "interval": text(pattern="^[0-9]+(ms|s|m|h)$"), "scrapeTimeout": text(pattern="^[0-9]+(ms|s|m|h)$")})
    not_both = lambda *paths: {"not": {"allOf": [{"properties": {path: {"properties": {"enabled": {"const": True}}, "required": ["enabled"]}}, "required": [path]} for path in paths]}}
    from_to = OBJECTS
    rack = closed({
        "name": text(minLength=1), "members": number(1), "storage": closed({"capacity": QUANTITY, "storageClassName": text()}, required=["capacity"]),
        "resources": RESOURCES, "placement": OBJECT,
    }, required=["name", "members", "storage"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of the chart tidings",
        "description": "Made by tests/chart/values_schema.py",
        **closed({
            "nameOverride": NAME, "fullnameOverride": NAME, "commonLabels": LABELS,
            "image": closed({
                "repository": text(minLength=1, examples=["registry.example.com/tidings"]), "tag": text(examples=["0.1.0"]),
                "digest": DIGEST, "pullPolicy": PULL,
            }, required=["repository"]),
            "imagePullSecrets": listed(closed({"name": GIVEN_NAME}, required=["name"])),
            "config": settings(), "secrets": secrets(), "catalogue": catalogue(),
            "roomDefaults": ref,
            "rooms": closed({"ingest": ref, "fanout": ref, "digest": ref, "sender": ref, "feed": shares_none, "slots": shares_none, "keeper": keeper}),
            "migrate": closed({"mode": {"enum": ["hook", "job", "off"]}, "noWayBack": FLAG, "backoffLimit": number(), "activeDeadlineSeconds": number(60), "ttlSecondsAfterFinished": number(), "resources": RESOURCES}),
            "command": closed({"args": listed(text(), examples=[["days", "ann"]]), "room": {"enum": ["ingest", "fanout", "digest", "sender", "feed", "slots", "keeper"]}}),
            "serviceAccount": closed({"create": FLAG, "name": NAME, "annotations": LABELS}),
            "podSecurityContext": closed({name: number(1) for name in ("runAsUser", "runAsGroup", "fsGroup")}),
            "service": closed({"type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}, "port": PORT, "annotations": LABELS}),
            "feedService": closed({"type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}, "port": PORT, "annotations": LABELS}),
            "slotsService": closed({"type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}, "port": PORT, "annotations": LABELS}),
            "mailIntake": closed({"enabled": FLAG, "containerPort": number(1024, 65535), "service": closed({
                "type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}, "port": PORT, "annotations": LABELS,
                "externalTrafficPolicy": {"enum": ["Local", "Cluster"]}, "loadBalancerSourceRanges": STRINGS,
            })}),
            "ingress": closed({"enabled": FLAG, "className": text(), "annotations": LABELS, "host": text(), "paths": PATHS, "feedPaths": ROOM_PATHS, "slotsPaths": ROOM_PATHS, "tlsSecret": NAME}),
            "gateway": closed({"enabled": FLAG, "parentRefs": OBJECTS, "hostnames": STRINGS, "paths": PATHS, "feedPaths": ROOM_PATHS, "feedTimeouts": closed({"request": TIMEOUT, "backendRequest": TIMEOUT}, examples=[{"request": "0s"}]), "slotsPaths": ROOM_PATHS, "annotations": LABELS}, **{
                "if": {"properties": {"enabled": {"const": True}}, "required": ["enabled"]},
                "then": {"properties": {"parentRefs": {"minItems": 1}}, "required": ["parentRefs"]},
            }),
            "networkPolicy": closed({
                "enabled": FLAG, "http": from_to, "monitoring": from_to, "kafka": from_to, "cql": from_to, "registry": from_to, "traces": from_to,
                "kafkaPorts": PORTS, "cqlPorts": PORTS, "mailPorts": PORTS, "webPorts": PORTS, "extraEgress": OBJECTS,
            }),
            "monitoring": closed({
                "serviceMonitor": monitor, "podMonitor": monitor,
                "docs": text(minLength=1, examples=["https://git.example.com/tidings/docs"]),
                "rules": closed({
                    "enabled": FLAG, "labels": LABELS, "alertLabels": LABELS, "disabled": listed({"enum": sorted(alerts())}),
                    "thresholds": closed(thresholds()),
                }),
                "dashboards": closed({"enabled": FLAG, "labels": LABELS, "annotations": LABELS}),
            }, **not_both("serviceMonitor", "podMonitor")),
            "strimzi": closed({
                "cluster": NAME, "namespace": NAME, "topics": closed({"enabled": FLAG, "changesPartitions": number()}),
                "user": closed({"enabled": FLAG, "name": GIVEN_NAME, "authentication": {"enum": ["scram-sha-512", "tls"]}, "foreignTopics": STRINGS}),
            }),
            "scylla": closed({"enabled": FLAG, "name": GIVEN_NAME, "version": text(), "agentVersion": text(), "datacenter": text(), "racks": listed(rack, minItems=1), "extraSpec": OBJECT}),
            "k8ssandra": closed({
                "enabled": FLAG, "name": GIVEN_NAME, "serverVersion": text(), "datacenter": text(), "size": number(1), "storage": QUANTITY,
                "storageClassName": text(), "resources": RESOURCES, "racks": listed(closed({"name": text(), "nodeAffinityLabels": LABELS}, required=["name"])), "extraSpec": OBJECT,
            }),
            "tests": closed({"image": text(minLength=1), "resources": RESOURCES}),
            "extraObjects": listed({"type": ["object", "string"]}),
            "global": OBJECT,
        }, required=["image", "config", "secrets", "catalogue"]),
        **not_both("scylla", "k8ssandra"),
        "$defs": {"room": every},
    }


if __name__ == "__main__":
    made = json.dumps(values(), indent=1, ensure_ascii=False) + "\n"
    if sys.argv[1:] == ["--check"]:
        if SCHEMA.read_text() != made:
            raise SystemExit("helm/tidings/values.schema.json is not up to date: run tests/chart/values_schema.py")
    else:
        SCHEMA.write_text(made)
