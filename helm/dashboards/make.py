"""Makes helm/tidings/files/dashboards: `make.py` writes it, `make.py --check` says whether it is up to date.

Each dashboard is made by Grafana's Foundation SDK from a table of panels beside this file. One line of JSON is one panel.
"""

import json
import pathlib
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder

import engines
import people
import pipeline
import replay
import senders

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tidings/files/dashboards"
MAKERS = {"pipeline": pipeline, "people": people, "senders": senders, "engines": engines, "replay": replay}


def write(board):
    """The JSON of a dashboard, compact and with a line for each panel and variable."""
    tree = json.loads(JSONEncoder(sort_keys=True).encode(board.made.build()))
    for at, panel in enumerate(tree["panels"], 1):
        panel["id"] = at
    for variable in tree["templating"]["list"]:
        # Nobody chooses where the documentation is; the SDK has no word for hiding a constant.
        if variable["type"] == "constant":
            variable["hide"] = 2
    compact = lambda value: json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    lines = []
    for name in sorted(tree):
        value = tree[name]
        if name == "templating":
            value = "{\"list\":[\n" + ",\n".join(compact(item) for item in value["list"]) + "\n]}"
        elif name == "panels":
            value = "[\n" + ",\n".join(compact(item) for item in value) + "\n]"
        else:
            value = compact(value)
        lines.append(f'"{name}":{value}')
    return "{" + ",\n".join(lines) + "}\n"


def main():
    made = {f"{name}.json": write(maker.board()) for name, maker in MAKERS.items()}
    if sys.argv[1:] == ["--check"]:
        there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
        if there != made:
            raise SystemExit("helm/tidings/files/dashboards is not up to date: run helm/dashboards/make.py")
        return
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
