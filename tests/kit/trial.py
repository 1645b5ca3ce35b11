"""A table published night after night while people leave and join, and what its published tables say by SQL over them.

The published tables carry a pseudonym of each person as an insensitive column: whoever reads them sees exactly which
row left and which came, more than a table of a release usually tells.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any

from sqlanon import pipeline
from sqlanon.release.lock import Lock
from sqlanon.release.results import RunResult
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database

VARIABLE = "SQLANON_TEST_LEDGER_KEY"
TYPES = {"id": "text", "pseudonym": "text", "a": "text", "s": "text", "left_on": "text"}
BATCH = 2000


@dataclass(frozen=True)
class Night:
    """One release: shares of the source."""

    suppressed: int
    deferred: int
    covered: int
    staying: int
    """Rows of people who have left, which are still shown."""
    people: int
    seconds: float
    """Of the clock."""
    processor: float
    """Seconds of the processor, of this process alone: a server's are not in it."""

    @property
    def missing(self) -> float:
        """The share of the source that is not released."""
        return (self.suppressed + self.deferred + self.covered) / self.people


@dataclass
class Trial:
    """A source, and the releases made of it."""

    url: str
    people: int
    classes: int
    seed: int
    k: int = 5
    l: int = 2  # noqa: E741 (the papers' name)
    rate: float = 0.01
    """The share that leaves a night; as many join."""
    ledger: bool = True
    marked: bool = False
    """The rows of people who leave stay in the source, with a mark."""
    nights: list[Night] = field(default_factory=list)
    known: Lock | None = None

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.database = Database(self.url)
        self.there: list[int] = []
        self.next = 0
        self.database.run("DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS truth")
        self.database.create("people", TYPES, [])
        self.database.create("truth", {"pseudonym": "text", "s": "text"}, [])
        self._join(self.people)

    def _join(self, number: int) -> None:
        for start in range(self.next, self.next + number, BATCH):
            those = range(start, min(start + BATCH, self.next + number))
            rows = [
                (f"p{n}", f"x{n}", f"c{self.random.randrange(self.classes):04}", f"s{self.random.randrange(10)}")
                for n in those
            ]
            listed = ", ".join(f"({', '.join(map(repr, row))}, NULL)" for row in rows)
            named = ", ".join(str((row[1], row[3])) for row in rows)
            self.database.run(f"INSERT INTO people VALUES {listed}", f"INSERT INTO truth VALUES {named}")
            self.there.extend(those)
        self.next += number

    def _leave(self, number: int) -> None:
        self.random.shuffle(self.there)
        gone, self.there = self.there[:number], self.there[number:]
        change = "UPDATE people SET left_on = 'today'" if self.marked else "DELETE FROM people"
        self.database.run(f"{change} WHERE id IN ({', '.join(repr(f'p{n}') for n in gone)})")

    def spec(self) -> Spec:
        values: dict[str, Any] = {
            "connection": self.url,
            "source": "people",
            "target": "released",
            "columns": {
                "id": {"role": "identifier"},
                "pseudonym": {"role": "insensitive", "accept": "readers of the trial shall see who is who"},
                "a": {"role": "quasi_identifier", "levels": {"max": 0}},
                "s": {"role": "sensitive"},
                "left_on": {"role": "identifier"},
            },
            "privacy": {
                "k": self.k,
                "l_diversity": [{"column": "s", "l": self.l}],
                "suppression": {"limit": "100%"},
            },
        }
        if self.ledger:
            values["history"] = {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}"}
            values["history"] |= {"left": "left_on"} if self.marked else {}
        return spec_from_dict(values)

    def publish(self) -> RunResult:
        """Publish once more, and put the table aside as somebody does who collects them."""
        if self.nights:
            changes = max(1, round(self.people * self.rate))
            self._leave(changes)
            self._join(changes)
        spec = self.spec()
        clock, processor = time.perf_counter(), time.process_time()
        result = pipeline.run(spec, known=self.known, reuse=self.known is not None)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        if result.plan is not None:
            self.known = Lock.of(spec, result.plan, "spec.yaml", None)
        held = result.publication.history
        counts = (held.deferred, held.covered, held.staying) if held is not None else (0, 0, 0)
        self.nights.append(Night(result.publication.suppressed, *counts, len(self.there), clock, processor))
        place = len(self.nights)
        self.database.run(
            f"DROP TABLE IF EXISTS night_{place}", f"CREATE TABLE night_{place} AS SELECT * FROM released"
        )
        return result

    # -- what the published tables say -----------------------------------------------------------------------------

    def exposed(self, older: int, newer: int) -> tuple[int, int]:
        """By two published tables: people in groups of fewer than k among those who left a class, came into it, or went
        from one to another; and people in such groups of fewer than l values."""
        few = f"coalesce(sum(CASE WHEN n < {self.k} THEN n END), 0)"
        alike = f"coalesce(sum(CASE WHEN v < {self.l} THEN n END), 0)"
        [found] = self.database.run(
            f"SELECT {few}, {alike} FROM (SELECT count(*) AS n, count(DISTINCT coalesce(o.s, j.s)) AS v"
            f" FROM night_{older} AS o FULL JOIN night_{newer} AS j ON o.pseudonym = j.pseudonym"
            f" GROUP BY o.a, j.a) AS grouped"
        )
        return int(found[0]), int(found[1])

    def exposed_anywhere(self) -> int:
        """The same of all pairs of tables."""
        return sum(sum(self.exposed(*pair)) for pair in combinations(range(1, len(self.nights) + 1), 2))

    def failing_tracks(self) -> int:
        """Groups of people who are alike in all tables, and fewer than k or of fewer than l values."""
        listed = " UNION ALL ".join(
            f"SELECT pseudonym, {place} AS night, a FROM night_{place}" for place in range(1, len(self.nights) + 1)
        )
        [(number,)] = self.database.run(
            f"SELECT count(*) FROM (SELECT g.track FROM (SELECT pseudonym, string_agg(night || a, '>' ORDER BY night)"
            f" AS track FROM ({listed}) AS collected GROUP BY pseudonym) AS g"
            f" JOIN truth AS t ON g.pseudonym = t.pseudonym GROUP BY g.track"
            f" HAVING count(*) < {self.k} OR count(DISTINCT t.s) < {self.l}) AS failing"
        )
        return int(number)
