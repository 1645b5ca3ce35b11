"""A series of releases by brute force: who may be released, from plain data; nothing is shared with the package.

A person's track is the tuple of what was published of the person in each release: the class, or None.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError
from sqlanon.release.results import RunResult
from sqlanon.release.script import compiled
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.scripts import run_script

SECRET = "a secret of the tests, long enough"
VARIABLE = "SQLANON_TEST_LEDGER_KEY"

Row = tuple[str, str]
"""The value of the quasi-identifier, and the sensitive one."""
Enough = Callable[[list[str]], bool]
"""Whether people with these sensitive values satisfy the requirement."""


def enough(k: int, l: int = 1) -> Enough:  # noqa: E741 (the papers' name)
    return lambda values: len(values) >= k and len(set(values)) >= l


def hash_of(person: str, secret: str = SECRET) -> str:
    """How the ledger knows a person."""
    derived = hmac.new(secret.encode(), b"sqlanon ledger", hashlib.sha256).hexdigest()
    return hmac.new(derived.encode(), person.encode(), hashlib.sha256).hexdigest()


def held_back(
    classes: Mapping[str, str],
    values: Mapping[str, str],
    tracks: Mapping[str, tuple[Any, ...]],
    ok: Enough,
    k: int,
    published: Mapping[str, str],
    left: Collection[str] = (),
    standing: Collection[str] = (),
) -> set[str]:
    """Who of a release must stay out, by the rules of the docs: `classes` of those whose class satisfies by itself,
    `published` the values that were published last, `left` those who have left and whose rows the source keeps,
    `standing` who stands in the table that is replaced."""
    out: set[str] = set()

    def known(absent: list[str]) -> list[str]:
        """The values that were published last; of those who are gone, or have another value by now, what most of the
        others have: at worst that is theirs."""
        values_known = [values[p] for p in absent if p in classes and values[p] == published[p]]
        common = Counter(values_known).most_common(1)
        unknown = len(absent) - len(values_known)
        return values_known + [common[0][0] if common else "nothing"] * unknown

    everybody: dict[tuple[Any, ...] | None, list[str]] = defaultdict(list)
    for person in {*classes, *tracks}:
        everybody[tracks.get(person)].append(person)
    for track, people in everybody.items():
        leaving = {person for person in people if person in left and person in classes}
        rest: dict[str, list[str]] = defaultdict(list)
        whole: dict[str, list[str]] = defaultdict(list)
        for person in people:
            if person in classes:
                whole[classes[person]].append(person)
                if person not in leaving:
                    rest[classes[person]].append(person)
        fine = {name for name in whole if ok([values[person] for person in whole[name]])}
        would_fail = any(name in fine and not ok([values[person] for person in rest[name]]) for name in rest)
        absent = [p for p in people if p not in classes or p in leaving or classes[p] not in fine]
        others = [p for p in people if p not in absent]
        if track is None or not (would_fail or (others and absent and not ok(known(absent)))):
            out |= leaving
        out |= {person for person in leaving if person not in standing}
        while True:
            groups: dict[str, list[str]] = defaultdict(list)
            for person in people:
                if person in classes and person not in out:
                    groups[classes[person]].append(person)
            for name in list(groups):
                if not ok([values[person] for person in groups[name]]):
                    out |= set(groups.pop(name))
            absent = [person for person in people if person not in classes or person in out]
            if track is None or not absent or not groups:
                break
            if ok(known(absent)):
                break
            missing = max(1, k - len(absent))
            ranked = []
            for name, members in groups.items():
                turns: Counter[str] = Counter()
                for person in sorted(members, key=lambda person: (person not in leaving, hash_of(person))):
                    turns[values[person]] += 1
                    turn = turns[values[person]]
                    ranked.append(((-len(members), name, person not in leaving, turn, hash_of(person)), person))
            out |= {person for _, person in sorted(ranked)[:missing]}
    return out


@dataclass
class Series:
    """Releases of one source with a ledger, each compared with brute force."""

    url: str
    k: int = 3
    l: int = 1  # noqa: E741 (the papers' name)
    tracks: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """The sensitive value of everybody when last released."""
    releases: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    """Other keys of the spec."""
    standing: dict[str, set[str]] = field(default_factory=dict)
    """Who stands in each target."""
    scripted: bool = False
    """Nights are carried out as scripts, by a client that knows nothing of sqlanon."""

    @property
    def database(self) -> Database:
        return Database(self.url)

    def spec(self, level: int = 0, **changes: Any) -> Spec:
        privacy: dict[str, Any] = {"k": self.k, "suppression": {"limit": "100%"}}
        if self.l > 1:
            privacy["l_diversity"] = [{"column": "s", "l": self.l}]
        return spec_from_dict(
            {
                "connection": self.url,
                "source": "people",
                "target": "released",
                "columns": {
                    "id": {"role": "identifier"},
                    "a": {
                        "role": "quasi_identifier",
                        "hierarchy": {"mask": {"length": 2}},
                        "levels": {"min": level, "max": level},
                    },
                    "s": {"role": "sensitive"},
                    "left": {"role": "identifier"},
                },
                "privacy": privacy,
                "history": {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}", "left": "left"},
                **self.more,
                **changes,
            }
        )

    def source(self, people: Mapping[str, Row], left: Collection[str] = ()) -> None:
        """Put these people into the source, some of them as people who have left."""
        self.database.run("DROP TABLE IF EXISTS people")
        self.database.create(
            "people",
            {"id": "text", "a": "text", "s": "text", "left": "boolean"},
            [(p, *row, p in left) for p, row in people.items()],
        )

    def publish(
        self, people: Mapping[str, Row], level: int = 0, left: Collection[str] = (), **changes: Any
    ) -> RunResult | None:
        """Publish, and see that ledger, target and brute force agree and every track satisfies.

        With another target, the release is one more step of the same tracks.

        None where nobody can be released: then the release is refused, and nothing is written.
        """
        self.source(people, left)
        spec = self.spec(level, **changes)
        label = {person: a[: len(a) - level] + "*" * level for person, (a, _) in people.items()}
        sizes = Counter(label.values())
        diverse = {name: {people[p][1] for p in people if label[p] == name} for name in sizes}
        classes = {p: name for p, name in label.items() if sizes[name] >= self.k and len(diverse[name]) >= self.l}
        sensitive = {person: row[1] for person, row in people.items()}
        standing = self.standing.get(str(changes.get("target", "released")), set())
        asked = enough(self.k, self.l)
        out = held_back(classes, sensitive, self.tracks, asked, self.k, self.values, left, standing)
        if not set(classes) - out:
            with pytest.raises((duckdb.Error, psycopg.Error) if self.scripted else InfeasibleError):
                self.carried_out(spec, level)
            return None
        result = self.carried_out(spec, level)
        self.releases += 1
        self.standing[str(changes.get("target", "released"))] = set(classes) - out
        there = self.present()
        assert there == {hash_of(person) for person in classes if person not in out}
        assert self.database.counted(str(changes.get("target", "released")), "a, s") == Counter(
            (label[p], people[p][1]) for p in classes if p not in out
        )
        for person in {*self.tracks, *classes}:
            gone_on = classes[person] if person in classes and person not in out else None
            if person in self.tracks or gone_on is not None:
                before = self.tracks.get(person, (None,) * (self.releases - 1))
                self.tracks[person] = (*before, gone_on)
                if gone_on is not None:
                    self.values[person] = people[person][1]
        self.check()
        names = "deferred, covered, staying, smallest"
        [written] = self.database.run(f"SELECT {names} FROM kept_releases ORDER BY release DESC LIMIT 1")
        assert written == (
            len([p for p in out if p not in self.tracks and p not in left]),
            len([p for p in out if p in self.tracks and p not in left]),
            len([p for p in left if p in classes and p not in out]),
            min(Counter(self.tracks.values()).values(), default=0),
        )
        if result is not None:
            history = result.publication.history
            assert history is not None
            assert (history.deferred, history.covered, history.staying, history.smallest) == written
        return result

    def carried_out(self, spec: Spec, level: int) -> RunResult | None:
        """Publish; None where a script does it."""
        if not self.scripted:
            return pipeline.run(spec)
        run_script(self.database, compiled(spec, {"a": level}).text, secret=SECRET)
        return None

    def check(self) -> None:
        """Each group of people of one track satisfies."""
        groups: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
        for person, track in self.tracks.items():
            groups[track].append(self.values[person])
        for track, values in groups.items():
            assert enough(self.k, self.l)(values), (track, len(values))

    def present(self) -> set[str]:
        """The hashes of those who are in the last release, as the ledger says."""
        query = (
            "SELECT k.person FROM kept k JOIN kept_tracks t ON k.track = t.track"
            " WHERE t.release = (SELECT max(release) FROM kept_releases WHERE event = 'release')"
        )
        return {person for (person,) in self.database.run(query)}

    def groups(self) -> Counter[tuple[str | None, ...]]:
        """How many people have each track."""
        return Counter(self.tracks.values())
