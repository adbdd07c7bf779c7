"""Catalogues drawn from a grammar, and bombs, each checked by a process of its own with 2 GiB of memory and 60 seconds.

    catalogue_fuzz.py COMMAND GRAMMAR COUNT SEED      such as: catalogue_fuzz.py target/debug/tidings catalogue.lark 200 7

The command says that a catalogue is right (0) or what is wrong with it (1 or 3), and nothing else: it does not panic,
run out of memory or hang. A bomb it refuses. Prints each catalogue with which it does otherwise; exits with 1 if there
was one.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.extra.lark import from_lark
from lark import Lark

MEMORY = 2 << 30
SECONDS = 60
MJML = "<mjml><mj-body><mj-section><mj-column><mj-text>{{ count }} <a href=\"{{ unsubscribe }}\">Off</a></mj-text></mj-column></mj-section></mj-body></mjml>"

TEXT = "{{ count }} {{ unsubscribe }}"
# A right catalogue, and what is put into it to blow it up: a text that doubles, elements in elements, a pipe.
SMALL = """catalogue: small
subjects:
  post: {title: text}
kinds:
  made: {on: post.made, to: {followers_of: subject}, says: "{{ subject.title }}", plans: [daily]}
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: UTC}
    look_back: 7d
    from: News <news@small.example>
    headline: "HEADLINE"
    template: mail.mjml
    text: mail.txt
    sections: [{title: Posts, kinds: made, most: 9}]
"""
DOUBLED = "{% set s = 'x' %}" + "{% set s = s ~ s %}" * 40 + "{{ s }}"


def nested(tag: str, times: int) -> str:
    return MJML.replace("{{ count }}", f"<{tag}>" * times + "{{ count }}" + f"</{tag}>" * times)


# The catalogue, its mail and its text; None is a pipe that nobody writes to.
BOMBS: dict[str, tuple[str, str | None, str]] = {
    "a headline that doubles": (SMALL.replace("HEADLINE", DOUBLED), MJML, TEXT),
    "a mail that doubles": (SMALL, MJML.replace("{{ count }}", DOUBLED), TEXT),
    "a text that doubles": (SMALL, MJML, DOUBLED),
    "elements in elements": (SMALL, nested("b", 30_000), TEXT),
    "wrappers in wrappers": (
        SMALL, "<mjml><mj-body>" + "<mj-wrapper>" * 9_000 + "</mj-wrapper>" * 9_000 + "</mj-body></mjml>", TEXT
    ),
    "a mail that is a pipe": (SMALL, None, TEXT),
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def went(command: str, catalogue: str, mail: str | None = MJML, text: str = TEXT) -> tuple[int, str]:
    """The exit code of a check, and why that is wrong if it is."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "catalogue.yaml").write_text(catalogue, encoding="utf-8")
        if mail is None:
            os.mkfifo(folder / "mail.mjml")
        else:
            (folder / "mail.mjml").write_text(mail)
        (folder / "mail.txt").write_text(text)
        try:
            run = subprocess.run(
                [command, "check", folder], capture_output=True, timeout=SECONDS, preexec_fn=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return -1, f"it took more than {SECONDS} s"
    said = (run.stdout + run.stderr).decode("utf-8", "replace")
    if run.returncode not in (0, 1, 3):
        return run.returncode, f"it ended with {run.returncode}: {said[-2000:]}"
    if "panicked" in said or "internal error" in said:
        return run.returncode, said[-2000:]
    if run.returncode and not said.strip():
        return run.returncode, "it says nothing of what is wrong"
    return run.returncode, ""


def main() -> int:
    command, grammar, count, number = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    grammar = Lark(grammar.read_text(encoding="utf-8"), start="start")
    codes: dict[int, int] = {}
    wrong = 0

    @seed(number)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(from_lark(grammar))
    def check(catalogue: str) -> None:
        nonlocal wrong
        code, why = went(command, catalogue)
        codes[code] = codes.get(code, 0) + 1
        if why:
            wrong += 1
            print(f"{why}\n{catalogue}\n")

    check()
    if went(command, SMALL.replace("HEADLINE", "{{ count }}"))[0] != 0:
        wrong += 1
        print("what the bombs are put into is not right itself")
    for name, bomb in BOMBS.items():
        code, why = went(command, *bomb)
        if why or code == 0:
            wrong += 1
            print(f"{name}: {why or 'it was taken'}")
    print(f"{sum(codes.values())} catalogues, by exit code {codes}; {wrong} wrong")
    return 1 if wrong or sum(codes.values()) < count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
