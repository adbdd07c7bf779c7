"""What dashboards, alerts and runbooks promise, without any of them running. Each check says what is wrong.

The rules for dashboards are those that Grafana's dashboard-linter publishes, and a few of our own.
"""

import json
import pathlib
import re
import subprocess
import tempfile

import promql_parser
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARDS = ROOT / "helm/tidings/files/dashboards"
ALERTS = ROOT / "helm/tidings/files/alerts.yaml"
RUNBOOKS = ROOT / "docs/runbooks"
REFERENCE = ROOT / "docs/reference/metrics.md"
# What Prometheus itself and any process have, beside ours.
USUAL = {
    "up", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
    "process_start_time_seconds", "process_threads",
}
VARIABLES = ["datasource", "job", "namespace", "release", "instance", "docs"]
CHOSEN = [f'{name}=~"${name}"' for name in ("job", "namespace", "release", "instance")]
BYTES_MAX = 60_000
# Metrics that each process of a room reports of all partitions: their sum over processes means nothing.
OF_ALL = ("tidings_consumergroup_lag", "tidings_consumergroup_lag_seconds", "tidings_consumergroup_lag_unknown")
# Metrics that no dashboard and no alert needs, each with its reason.
UNSEEN = {}


def metrics_known():
    """Names by the reference, with the labels and the series of each."""
    known = {name: None for name in USUAL}
    for name, kind, labels in re.findall(r"^\| `(tidings_\w+)`, (\w+) \|([^|]*)\|", REFERENCE.read_text(), re.M):
        words = set(re.findall(r"`(\w+)`", labels))
        for series in [f"{name}{end}" for end in ("_bucket", "_count", "_sum")] if kind == "histogram" else [name]:
            known[series] = words | ({"le"} if series.endswith("_bucket") else set())
    return known


def fill(expression, rate="1m"):
    """A query of a panel as Grafana would send it."""
    filled = expression.replace("$__rate_interval", rate).replace("$__interval", rate).replace("$__range", rate)
    return re.sub(r"\$\{?\w+\}?", ".*", filled)


def selectors(expression):
    """Each metric that a query names, with the labels that it asks for."""
    return [(name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", inner))) for name, inner in re.findall(r"\b([a-z_]+)\{([^{}]*)\}", expression)]


def bare_names(expression):
    """Metrics that are named without any choice."""
    return re.findall(r"\b(tidings_\w+|process_\w+)\b(?!\{)(?=[\s)\[+*/-]|$)", expression)


def check_query(where, expression, known):
    try:
        promql_parser.parse(fill(expression))
    except ValueError as error:
        yield f"{where}: {error}"
    for name, labels in selectors(expression):
        if name.startswith("release:"):
            continue
        if name not in known:
            yield f"{where}: there is no metric {name}"
        elif known[name] is not None and (odd := labels - known[name] - {"job", "namespace", "release", "instance"}):
            yield f"{where}: {name} has no label {', '.join(sorted(odd))}"
    for name in bare_names(expression):
        yield f"{where}: {name} is not confined to a house"
    for name in OF_ALL:
        if re.search(rf"(sum|avg)( by \([^)]*\))? \({name}\{{", expression):
            yield f"{where}: {name} is reported by every process: take the greatest"


def check_dashboard(path, known):
    board = json.loads(path.read_text())
    if path.stat().st_size > BYTES_MAX:
        yield f"it has {path.stat().st_size} bytes"
    if board["uid"] != f"tidings-{path.stem}" or board["editable"] or "tidings" not in board["tags"]:
        yield "its uid is not that of the file, it can be edited, or it has no tag"
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    if list(variables) != VARIABLES:
        yield f"its variables are {list(variables)}"
        return
    for name in ("job", "namespace", "release", "instance"):
        variable = variables[name]
        if not (variable["includeAll"] and variable["multi"] and variable["allValue"] == ".*" and variable["refresh"] == 2):
            yield f"the variable {name} does not offer all, or is not asked anew"
    rows = [panel for panel in board["panels"] if panel["type"] == "row"]
    if board["panels"][0]["type"] != "row" or len(rows) < 2:
        yield "panels stand in no row"
    if len({panel["id"] for panel in board["panels"]}) < len(board["panels"]):
        yield "two panels have one id"
    titles = [panel["title"] for panel in board["panels"]]
    for panel in board["panels"]:
        where = panel["title"] or f"panel {panel['id']}"
        if titles.count(panel["title"]) > 1 or not panel["title"]:
            yield f"{where}: a title is missing or stands twice"
        if panel["type"] != "row":
            yield from (f"{where}: {what}" for what in check_panel(panel, known))


def check_panel(panel, known):
    if not panel.get("description", "").endswith("."):
        yield "its description is no sentence"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield "it has no unit"
    if panel["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
        yield "its data source is no variable"
    if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
        yield "it is wider than the page"
    links = [link["url"] for link in panel.get("links", [])]
    if len(links) != 1 or not links[0].startswith("${docs}/"):
        yield "it has no link to the documentation"
    for link in links:
        yield from check_link(link.removeprefix("${docs}/"))
    if not panel["targets"]:
        yield "it asks nothing"
    several = len(panel["targets"]) > 1
    for target in panel["targets"]:
        expression = target["expr"]
        if target["datasource"] != panel["datasource"]:
            yield "a query has another data source"
        if panel["type"] == "timeseries" and not target.get("legendFormat"):
            yield "a line has no name"
        if several and not target["legendFormat"].strip():
            yield "of several queries one has no name"
        for wanted in CHOSEN:
            if expression.count(wanted) != len(selectors(expression)):
                yield f"not every selector has {wanted}"
        if re.search(r"(rate|increase)\([^()]*\[(?!\$__rate_interval|1h|1d)", expression):
            yield "a rate has an interval of its own"
        for function, name in re.findall(r"(rate|increase)\((\w+)\{", expression):
            if not re.search(r"_(total|bucket|count|sum)$", name):
                yield f"{function} of {name}, which is no counter"
        yield from check_query("a query", expression, known)


def check_link(link):
    page, _, anchor = link.partition("#")
    path = ROOT / "docs" / page
    if not path.is_file():
        yield f"docs/{page} does not exist"
    elif anchor and anchor not in headings(path.read_text()):
        yield f"docs/{page} has no heading {anchor}"


def headings(text):
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\s-]", "", title).replace(" ", "-").lower() for title in titles}


def alerts():
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"] if "alert" in rule]


def check_alerts(known):
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    records = {rule["record"] for rule in rules if "record" in rule}
    for rule in rules:
        where = rule.get("alert") or rule["record"]
        yield from check_query(where, re.sub(r"release:\w+:\w+", "up", rule["expr"]), known)
        named = re.findall(r"(release:\w+:\w+)", rule["expr"])
        yield from (f"{where}: nothing records {name}" for name in named if name not in records)
        for _, inner in re.findall(r"([\w:]+)\{([^{}]*)\}", rule["expr"]):
            if 'job="tidings"' not in inner:
                yield f"{where}: a selector lacks job=\"tidings\", so the chart cannot confine it"
        if "alert" not in rule:
            continue
        notes = rule["annotations"]
        if not re.fullmatch(r"Tidings([A-Z][a-z]+)+", where):
            yield f"{where}: its name is not in CamelCase after Tidings"
        if rule["labels"].get("severity") not in ("critical", "warning", "info"):
            yield f"{where}: its severity is none"
        if set(notes) != {"summary", "description", "runbook_url"}:
            yield f"{where}: it has {sorted(notes)}"
        for name in ("summary", "description"):
            if not notes[name].endswith("."):
                yield f"{where}: its {name} is no sentence"
        if notes["runbook_url"] != f"docs/runbooks/{where}.md":
            yield f"{where}: its page is {notes['runbook_url']}"
        # What an alert says of itself it must know: a label that the expression sums away is an empty text.
        kept = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"]))))
        for label in re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"]):
            if " by (" in rule["expr"] and label not in kept:
                yield f"{where}: it has no label {label}"
    if subprocess.run(["promtool", "check", "rules", ALERTS], capture_output=True).returncode != 0:
        yield "promtool refuses the alerts"
    values = yaml.safe_load((ROOT / "helm/tidings/values.yaml").read_text())["monitoring"]["rules"]["thresholds"]
    marked = {}
    for value, name in re.findall(r"(\S+) # ([a-zA-Z]+)$", ALERTS.read_text(), re.M):
        if marked.setdefault(name, value) != value:
            yield f"{name} is {value} here and {marked[name]} there"
    for name in sorted(values.keys() | marked.keys()):
        if str(values.get(name)) != marked.get(name):
            yield f"the threshold {name} is {values.get(name)} in values.yaml, and {marked.get(name)} in the alerts"


SECTIONS = ["Meaning", "Impact", "Look", "Act"]


def fences(page, language):
    """The blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def check_runbooks(known):
    names = {rule["alert"] for rule in alerts()}
    pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    yield from (f"{name} has no page" for name in sorted(names - pages))
    yield from (f"{name}.md belongs to no alert" for name in sorted(pages - names))
    index = (RUNBOOKS / "README.md").read_text()
    for name in sorted(pages):
        text = (RUNBOOKS / f"{name}.md").read_text()
        if f"]({name}.md)" not in index:
            yield f"README.md does not list {name}"
        if re.findall(r"^# (.+)$", text, re.M) != [name] or re.findall(r"^## (.+)$", text, re.M) != SECTIONS:
            yield f"{name}.md has other headings than {', '.join(SECTIONS)}"
        if not fences(text, "promql") and not fences(text, "sh"):
            yield f"{name}.md has nothing to run"
    for path in pages_with_queries():
        for number, block in enumerate(fences(path.read_text(), "promql"), 1):
            for line in block.splitlines():
                yield from check_query(f"{path.name}, query {number}", line, known)


def pages_with_queries():
    return [*sorted(RUNBOOKS.glob("*.md")), ROOT / "docs/watching.md"]


def check_coverage(known):
    """Whether each metric is seen by somebody."""
    text = ALERTS.read_text() + "".join(path.read_text() for path in DASHBOARDS.glob("*.json"))
    seen = set(re.findall(r"\b(tidings_\w+|process_\w+|up)\b", text))
    for name in sorted(known):
        if name.startswith("tidings_") and not name.endswith(("_sum", "_bucket", "_count")) and name not in seen | UNSEEN.keys():
            yield f"nobody looks at {name}"
        if name.endswith("_bucket") and name not in seen and name.removesuffix("_bucket") not in UNSEEN:
            yield f"nobody looks at {name}"
    yield from (f"{name} is looked at by now" for name in UNSEEN if name in seen)


def all_checks():
    """Every check by its name, with what it found."""
    known = metrics_known()
    found = {f"dashboard {path.stem}": list(check_dashboard(path, known)) for path in sorted(DASHBOARDS.glob("*.json"))}
    found["alerts"] = list(check_alerts(known))
    found["runbooks"] = list(check_runbooks(known))
    found["every metric is looked at"] = list(check_coverage(known))
    return found


def plant(name, change):
    """What the checks find in a dashboard with one thing wrong."""
    board = json.loads((DASHBOARDS / f"{name}.json").read_text())
    change(board, [panel for panel in board["panels"] if panel["type"] != "row"])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(json.dumps(board, separators=(",", ":")))
        return list(check_dashboard(path, metrics_known()))


def ask(query):
    return lambda board, panels: panels[0]["targets"][0].update(expr=query)


ALL = "{" + ", ".join(CHOSEN) + "}"
FAULTS = {
    "a panel has no description": lambda board, panels: panels[3].pop("description"),
    "a panel has no unit": lambda board, panels: panels[3]["fieldConfig"]["defaults"].pop("unit"),
    "a panel links to no page": lambda board, panels: panels[3]["links"][0].update(url="${docs}/runbooks/TidingsNothing.md"),
    "a panel links to no heading": lambda board, panels: panels[3]["links"][0].update(url="${docs}/windows.md#never"),
    "a data source is fixed": lambda board, panels: panels[3]["datasource"].update(uid="prometheus"),
    "a dashboard can be edited": lambda board, panels: board.update(editable=True),
    "a variable is missing": lambda board, panels: board["templating"]["list"].pop(2),
    "two panels have one title": lambda board, panels: panels[3].update(title=panels[4]["title"]),
    "a query is broken": ask(f"max(tidings_consumergroup_lag{ALL}"),
    "a query is not confined": ask("max(tidings_digest_due_windows)"),
    "a query has no namespace": ask('max(tidings_digest_due_windows{job=~"$job"})'),
    "lag is added up": ask(f"sum by (topic) (tidings_consumergroup_lag{ALL})"),
    "a metric does not exist": ask(f"sum(tidings_mails_total{ALL})"),
    "a label does not exist": ask("sum(tidings_sender_outcomes_total{" + ", ".join([*CHOSEN, 'way="mail"']) + "})"),
    "a rate has an interval of its own": ask(f"sum(rate(tidings_sender_outcomes_total{ALL}[5m]))"),
    "a gauge has a rate": ask(f"sum(rate(tidings_digest_due_windows{ALL}[$__rate_interval]))"),
}


def main():
    failed = 0
    found = all_checks()
    for fault, change in FAULTS.items():
        found[f"planted: {fault}"] = [] if plant("pipeline", change) else ["nothing finds it"]
    for name, wrong in found.items():
        print(f"{name}: {'ok' if not wrong else 'FAILED'}")
        failed += bool(wrong)
        for line in wrong:
            print(f"  {line}")
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
