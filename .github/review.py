"""What a pull request does to releases, as a comment in Markdown: specs checked, releases of dbt compared.

Run by `action.yml`, from the variables SPECS, PROJECT and ARGUMENTS (a path or word a line); needs nothing but the
command `sqlanon`. Its text holds names, levels and counts, as the command's own does, and never a value of the data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Answer = Mapping[str, Any]

COMMAND = (sys.executable, "-m", "sqlanon")


def main() -> int:
    """Ask, write the comment to stdout; the exit code is the worst of the commands'."""
    specs, arguments = os.environ.get("SPECS", "").split("\n"), os.environ.get("ARGUMENTS", "").split("\n")
    codes, parts = [0], ["## Releases"]
    if named := [spec.strip() for spec in specs if spec.strip()]:
        code, answer = asked("check", "--offline", *named)
        codes.append(code)
        parts += specs_checked(answer, named)
    if project := os.environ.get("PROJECT", "").strip():
        more = [word.strip() for word in arguments if word.strip()]
        code, answer = asked("dbt", "--project", project, "--check", *more)
        codes.append(code)
        parts += releases_compared(answer, Path(project))
    if len(parts) == 1:
        parts.append("Nothing was asked: name `specs` or a dbt `project`.")
    sys.stdout.write("\n\n".join(parts) + "\n")
    return max(codes)


def asked(*arguments: str) -> tuple[int, Answer]:
    """The exit code of a command and what it says; its own remarks go to the log."""
    done = subprocess.run([*COMMAND, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode or 4, {"error": {"message": "the command gave no answer; see the log of this job"}}


def specs_checked(answer: Answer, named: Sequence[str]) -> Iterator[str]:
    """A table of specs, and what is wrong with some."""
    if "specs" in answer:
        checked = answer["specs"]
    elif "error" in answer:
        checked = [{"spec": named[0], "valid": False, "problems": answer["error"]["message"].split("\n")}]
    else:
        checked = [answer]
    yield table(("spec", "checked"), map(spec_checked, checked))


def spec_checked(found: Answer) -> tuple[str, str]:
    """A line of that table."""
    if found["valid"]:
        return code(found["spec"]), "valid"
    return code(found["spec"]), "**refused**: " + "<br>".join(map(plain, found["problems"]))


def releases_compared(answer: Answer, project: Path) -> Iterator[str]:
    """What `sqlanon dbt` would change in the project, release by release."""
    if "error" in answer:
        yield refused(f"The releases of {code(project.as_posix())} were not planned", answer)
        return
    stale = [model for model in answer["models"] if model["changed"]]
    if not stale:
        yield f"All {len(answer['models'])} releases of {code(project.as_posix())} are up to date."
        return
    for model in stale:
        yield from release_changed(model, project)
    yield "Run `sqlanon dbt`, read what it changes, and commit its files."


def release_changed(model: Answer, project: Path) -> Iterator[str]:
    """A release that is not up to date: its files, its figures, what changes and why."""
    files = ", ".join(code(within(path, project)) for path in model["changed"])
    yield f"### {plain(model['model'])}\n\n{len(model['changed'])} files would change: {files}"
    diff = model["diff"]
    if diff is None:
        yield "It has no lock file yet."
    else:
        lines = [*map(plain, diff["changes"]), *(f"because {plain(reason['text'])}" for reason in diff["reasons"])]
        yield "\n".join(f"- {line}" for line in lines) or "Its decision stays as it is."
    kept = model["rows"] - model["suppressed"]
    levels = ((code(name), str(level)) for name, level in model["levels"].items())
    yield f"{kept:,} of {model['rows']:,} rows in {model['classes']:,} classes"
    if model["levels"]:
        yield table(("column", "level"), levels)


def refused(what: str, answer: Answer) -> str:
    """Why a command gave no result."""
    return f"{what}: **{plain(answer['error']['message'])}**"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def within(path: str, folder: Path) -> str:
    """A path as people of the project name it."""
    try:
        return Path(path).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path


def code(text: str) -> str:
    """A name to the letter, whatever it is made of."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in "".join(c if c == "`" else " " for c in line).split()), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def plain(text: str) -> str:
    """A text in which nothing is markup, on one line."""
    line = " ".join(text.split())
    return "".join(f"&#{ord(letter)};" if letter in "<>&|`*_[]#@~\\" else letter for letter in line)


if __name__ == "__main__":
    sys.exit(main())
