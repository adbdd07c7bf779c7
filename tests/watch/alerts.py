"""Has promtool try each alert: it fires, it does not fire, it is over. Then plants faults into the rules, and each must be found.

    alerts.py [RENDERED]

The cases are in alerts.yaml. The rules are those of the chart as it has them, or what it was RENDERED to for the release
`news` in the namespace `news`; then no faults are planted.
"""

import concurrent.futures
import copy
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parents[1] / "helm/tidings/files/alerts.yaml"
HOUSE = {"job": "tidings", "namespace": "news", "release": "news"}
# What a number or a time of a rule is multiplied by when it is wrong.
WRONG = (0.6, 1.7)
MARKED = re.compile(r"(\S+) # ([a-zA-Z]+)$", re.M)


def full_name(rule):
    """Two severities of an alert are two alerts here."""
    return f"{rule['alert']} {rule['labels']['severity']}"


def minutes(text):
    unit = {"s": 1 / 60, "m": 1, "h": 60, "d": 1440}
    return sum(float(number) * unit[letter] for number, letter in re.findall(r"([0-9.]+)([smhd])", str(text or "0s")))


def selector(name, labels):
    inner = ", ".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inner}}}"


def samples(series, phases):
    """The samples of a series, as promtool writes them."""
    if "rises" not in series:
        return " ".join(f"_x{length}" if level is None else f"{level}+0x{length - 1}" for length, level in zip(phases, series["is"]))
    parts, at = [], 0
    for length, rise in zip(phases, series["rises"]):
        parts.append(f"{at:g}{rise:+g}x{length - 1}")
        at += rise * length
    return " ".join(parts)


def make_test(case, waits, confined):
    """One test of promtool: the three phases of a case."""
    phases, step = case.get("phases", [60, 60, 60]), case.get("step", 1)
    ends = [sum(phases[: at + 1]) * step for at in range(3)]
    name, severity = case["alert"].split()
    labels = {**({"job": "tidings"} if case.get("bare") and not confined else HOUSE), "severity": severity, **case.get("labels", {})}
    fires = [{"exp_labels": labels, "exp_annotations": {"summary": case["says"]}}] if "says" in case else []
    at = lambda minute, expected: {"eval_time": f"{minute:g}m", "alertname": case["alert"], "exp_alerts": expected}
    checks = [at(ends[0] - step, []), at(ends[1] - step, fires), at(ends[2] - step, [])]
    if fires and waits > step:
        checks.append(at(ends[0] + waits - step, []))
    if fires and "soon" in case:
        checks.append(at(ends[0] + waits + case["soon"], fires))
    shown = [{"series": selector(series["name"], {**HOUSE, **series.get("labels", {})}), "values": samples(series, phases)} for series in case["series"]]
    return {"interval": f"{step}m", "input_series": shown, "alert_rule_test": checks}


def try_alert(rules, rule, cases, waits):
    """What promtool says of one alert; nothing if all is as it should be."""
    bare = {**rule, "alert": full_name(rule), "annotations": {"summary": rule["annotations"]["summary"]}}
    records = [record for record in all_rules(rules) if "record" in record and record["record"] in rule["expr"]]
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        (base / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [*records, bare]}]}))
        for step in sorted({case.get("step", 1) for case in cases}):
            confined = 'namespace="news"' in rule["expr"]
            tests = [make_test(case, waits, confined) for case in cases if case.get("step", 1) == step]
            made = {"rule_files": ["rules.yaml"], "evaluation_interval": f"{step}m", "tests": tests}
            (base / "tests.yaml").write_text(yaml.safe_dump(made))
            ran = subprocess.run(["promtool", "test", "rules", "tests.yaml"], cwd=folder, capture_output=True, text=True)
            if ran.returncode != 0:
                return ran.stdout + ran.stderr
    return ""


def read(text):
    trees = [tree for tree in yaml.safe_load_all(text) if tree]
    rendered = [tree["spec"] for tree in trees if tree.get("kind") == "PrometheusRule"]
    return (rendered or trees)[0]


def all_rules(rules):
    return [rule for group in rules["groups"] for rule in group["rules"]]


def alerts_of(rules):
    return {full_name(rule): rule for rule in all_rules(rules) if "alert" in rule}


def planted(text):
    """Faults: what is wrong, with which alert, and the rules as they are then."""
    marks = dict(reversed(mark) for mark in MARKED.findall(text))
    for mark, value in marks.items():
        for factor in WRONG:
            scaled = f"{minutes(value) * factor * 60:g}s" if value[-1] in "smhd" else f"{float(value) * factor:g}"
            # A number that is 0 has no wrong neighbour but 1.
            scaled = "1" if scaled == "0" else scaled
            changed = alerts_of(read(re.sub(rf"\S+ # {mark}\b", f"{scaled} # {mark}", text)))
            for name, rule in alerts_of(read(text)).items():
                if changed[name] != rule:
                    rules = copy.deepcopy(read(text))
                    alerts_of(rules)[name].update(changed[name])
                    yield f"{mark} of {name} is {scaled} instead of {value}", name, rules
    for name, rule in alerts_of(read(text)).items():
        faults = {"never fires": {"expr": f"({rule['expr']}\n) and vector(1) < 0"}, "says the opposite": {"expr": flip(rule["expr"])}}
        if "keep_firing_for" in rule:
            faults["never ends"] = {"keep_firing_for": "30d"}
        for what, change in faults.items():
            rules = copy.deepcopy(read(text))
            alerts_of(rules)[name].update(change)
            yield f"{name} {what}", name, rules


def flip(expression):
    """The same with its last comparison the other way round."""
    if expression.startswith("absent("):
        return expression.removeprefix("absent")
    if "unless" in expression and not re.search(r"\s[<>=]=? ", expression):
        return expression.replace("unless", "and")
    at = list(re.finditer(r"(?<=\s)(<=|>=|==|<|>)(?= )", expression))[-1]
    other = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!="}[at.group(1)]
    return f"{expression[: at.start()]}{other}{expression[at.end() :]}"


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else RULES
    rules = read(path.read_text())
    every = yaml.safe_load((HERE / "alerts.yaml").read_text())
    alerts = alerts_of(rules)
    cases = {name: [case for case in every if case["alert"] == name] for name in alerts}
    waits = {name: minutes(rule.get("for")) for name, rule in alerts.items()}
    failed = [f"no case has {name} fire" for name in alerts if not any("says" in case for case in cases[name])]
    failed += [f"there is no alert {case['alert']}" for case in every if case["alert"] not in alerts]
    passed = 0
    for name, rule in alerts.items():
        if wrong := cases[name] and try_alert(rules, rule, cases[name], waits[name]):
            failed.append(f"{name}: {wrong}")
        else:
            passed += len(cases[name])
    faults = list(planted(path.read_text())) if len(sys.argv) == 1 and not failed else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        find = lambda fault: try_alert(fault[2], alerts_of(fault[2])[fault[1]], cases[fault[1]], waits[fault[1]])
        found = list(pool.map(find, faults))
    passed += sum(map(bool, found))
    failed += [f"planted: {what}: nothing finds it" for (what, _, _), wrong in zip(faults, found) if not wrong]
    print(f"{len(every)} cases of {len(alerts)} alerts, {len(faults)} planted faults")
    print("\n".join([*failed, f"{passed} passed, {len(failed)} failed"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
