"""The fuzzer's command: `python -m tests.fuzz --engine duckdb --cases 500 --seconds 600 --seed 1`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.check import Finding, findings
from tests.fuzz.crash import DuckDBFile, PostgresSchema, crashes
from tests.fuzz.database import Database, opened, postgres_server
from tests.fuzz.generate import generate
from tests.fuzz.release import Outcome, released
from tests.fuzz.shrink import shrink

ENGINES = ("duckdb", "postgres", "sqlite", "clickhouse", "spark")


@dataclass
class Tally:
    """What the cases of one engine came to."""

    cases: int = 0
    released: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    algorithms: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def count(self, case: Case, outcome: Outcome) -> None:
        self.cases += 1
        if outcome.code == 0:
            self.released += 1
            self.algorithms[case.algorithm] += 1
        else:
            self.refused[reason(outcome)] += 1


def reason(outcome: Outcome) -> str:
    """The class of a refusal."""
    text = outcome.err
    if outcome.code is None:
        return "hang"
    for word in ("has no rows", "fewer than k", "outside its hierarchy", "internal error"):
        if word in text:
            return word
    return {2: "spec", 3: "infeasible", 4: "engine"}.get(outcome.code, "exit code")


def one(case: Case, database: Database, seconds: float | None = None) -> tuple[Outcome, list[Finding]]:
    """Run a case and judge it."""
    outcome = released(case, database, seconds)
    return outcome, findings(case, outcome)


def fuzz(engine: str, arguments: argparse.Namespace) -> Tally:
    """Cases of one engine until their number or time is reached."""
    tally, begun = Tally(), time.monotonic()
    seen: set[tuple[str, str]] = set()
    with opened(engine) as database:
        for seed in range(arguments.seed, arguments.seed + arguments.cases):
            if time.monotonic() - begun > arguments.seconds:
                break
            case = generate(seed, engine)
            outcome, found = one(case, database, arguments.case_seconds)
            tally.count(case, outcome)
            if found:
                path = arguments.out / f"{engine}-{seed}.json"
                arguments.out.mkdir(parents=True, exist_ok=True)
                path.write_text(case.to_json(), encoding="utf-8")
                tally.failures.append(f"{path} {case.algorithm}: {found[0].kind}: {found[0].detail}")
                say("\n" + tally.failures[-1] + "\n")
                # One small case of a kind is enough: shrinking takes longer than many a case.
                if arguments.shrink and (case.algorithm, found[0].kind) not in seen:
                    seen.add((case.algorithm, found[0].kind))
                    small = shrink(case, found[0].kind, lambda less: one(less, database, arguments.case_seconds)[1])
                    path.write_text(small.to_json(), encoding="utf-8")
            say(f"\r{engine}: {tally.cases} cases, {tally.released} released, {len(tally.failures)} failures ")
    return tally


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def summary(engine: str, tally: Tally) -> str:
    refused = ", ".join(f"{count} {word}" for word, count in tally.refused.most_common())
    by = ", ".join(f"{name} {count}" for name, count in sorted(tally.algorithms.items()))
    lines = [f"{engine}: {tally.cases} cases, {tally.released} released ({by})", f"  refused: {refused or 'none'}"]
    return "\n".join([*lines, f"  failures: {len(tally.failures)}", *(f"    {line}" for line in tally.failures)])


def replay(path: Path, seconds: float | None) -> int:
    """Run the case of a file and tell what is wrong with it."""
    case = Case.read(path)
    with opened(case.engine) as database:
        outcome, found = one(case, database, seconds)
    say(f"{case.algorithm} on {case.engine}: exit code {outcome.code} {outcome.err.strip()}\n")
    say("".join(f"{finding.kind}: {finding.detail}\n" for finding in found) or "nothing is wrong\n")
    return 1 if found else 0


def kill(arguments: argparse.Namespace) -> int:
    """Releases killed at random moments."""
    problems = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for engine in arguments.engine or ("duckdb", "postgres"):
            place = Path(folder) / engine
            place.mkdir()
            target: DuckDBFile | PostgresSchema = DuckDBFile(place / "crash.duckdb")
            if engine == "postgres":
                target = PostgresSchema(stack.enter_context(postgres_server()))
            found = crashes(target, place, arguments.crashes, arguments.seed)
            stood = Counter(crash.stood for crash in found)
            say(f"{engine}: {len(found)} releases, {sum(crash.killed for crash in found)} killed, {dict(stood)}\n")
            problems += [f"{engine}: {crash.problem}" for crash in found if crash.problem]
    say("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random releases, judged independently.")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated; all by default")
    parser.add_argument("--cases", type=int, default=1_000_000, help="the most cases for each engine")
    parser.add_argument("--seconds", type=float, default=600, help="the longest time for each engine")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--case-seconds", type=float, help="when a case counts as hanging")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder of failing cases")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="keep failing cases as they are")
    parser.add_argument("--crashes", type=int, default=0, help="releases to kill on DuckDB and PostgreSQL, instead")
    parser.add_argument("--replay", type=Path, help="run the case of a file")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        return replay(arguments.replay, arguments.case_seconds)
    if arguments.crashes:
        return kill(arguments)
    tallies = {engine: fuzz(engine, arguments) for engine in arguments.engine or ENGINES}
    say("\n" + "\n".join(summary(engine, tally) for engine, tally in tallies.items()) + "\n")
    return 1 if any(tally.failures for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
