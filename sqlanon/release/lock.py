"""The lock file: what a plan decided, as stable JSON that people review and `apply` carries out; and its cache.

Sorted, without timestamps; no data values beyond hierarchy labels, but for groups of values, whose file says so and is
for its owner alone. The cache keeps what the database said of each node, so that planning again on the same data asks
nothing. It decides nothing: where it is missing or does not fit, the database is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlanon.engines.temporaries import write_whole
from sqlanon.errors import UsageError
from sqlanon.metrics.base import Verdict, accuracy, completeness
from sqlanon.recoding import Assigned, Cuts, FullDomain, Recoding, recoding_from_dict
from sqlanon.spec.columns import accepted_columns, rules_of
from sqlanon.spec.release import changed_parts

if TYPE_CHECKING:
    from sqlanon.release.results import PlanResult
    from sqlanon.spec.columns import Column
    from sqlanon.spec.privacy import Privacy

VERSION = 2
CACHE_VERSION = 1
CACHES = ".sqlanon_cache"
"""The folder of caches beside the lock files, which keeps itself out of git."""
FOUND = ("classes", "height", "limit", "rows", "satisfied", "score", "suppressed")
"""Of a plan's figures, those of the release; they change with the data, and stand on one line of the file."""
SEARCHED = ("algorithm", "gap", "lattice", "minimal_complete", "proven", "undecided", "verified")
"""Those that say how it was found. Others follow from them, or stand in the cache."""
REMEMBERED = ("minimal", "ties")
"""Those that the cache keeps, with the verdicts."""
_A_LINE_EACH = ("accepted", "columns", "levels", "rules", "spec_parts", "values")
"""Parts of the file with a line for each member, so that a diff shows which of them changed."""
MARK = '"spec_hash"'
"""A text that stands in every lock file, also in one that was edited or merged badly."""
SENSITIVE = "the groups hold values of the source, those of suppressed rows among them: keep this file as the source"
"""What a lock file of groups says of itself."""


class Deciding(Protocol):
    """The spec that a plan was made for, of one table or of several."""

    @property
    def quasi_identifiers(self) -> tuple[str, ...]: ...

    @property
    def columns(self) -> Mapping[str, Column]: ...

    @property
    def privacy(self) -> Privacy: ...

    def hash(self) -> str: ...

    def parts(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Lock:
    """A plan as it is written down."""

    spec: str
    """The spec's file name, relative to the lock file."""
    spec_hash: str
    levels: dict[str, int]
    """The level of each column; empty where the recoding is not full-domain."""
    hierarchies: dict[str, dict[str, Any]]
    """Height, top label and fingerprint of each column's hierarchy, as they were when the plan was made."""
    requirement: dict[str, Any]
    result: dict[str, Any]
    """Figures of the plan, for the reader."""
    fingerprint: str = ""
    """Of the frequency set that the verdicts were found on."""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
    recipient: str | None = None
    """Whose release it is, where the spec has recipients; `spec_hash` is then that of the recipient's spec."""
    spec_parts: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of the spec's parts, by which a change of it is named."""
    source: Mapping[str, str] = field(default_factory=dict)
    """The columns of the source that the release reads, each with the kind of its values."""
    flexible: Cuts | Assigned | None = None
    """The recoding, where it is not full-domain."""
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Columns that are released although they look like identifiers, each with the reason that the spec gives."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """Columns that are released by a rule or derived, each with its rule in words."""

    @classmethod
    def of(cls, spec: Deciding, plan: PlanResult, path: str, recipient: str | None = None) -> Lock:
        """What a plan decided for a spec of one release; `path` leads from the lock file to the spec's file."""
        return cls(
            spec=path,
            spec_hash=spec.hash(),
            levels=plan.levels,
            hierarchies={name: dict(hierarchy) for name, hierarchy in plan.hierarchies.items()},
            requirement=dict(plan.requirement),
            result=plan.figures(),
            fingerprint=plan.fingerprint,
            verdicts=plan.verdicts,
            recipient=recipient,
            spec_parts=spec.parts(),
            source=dict(plan.source),
            flexible=plan.flexible,
            accepted=accepted_columns(spec.columns),
            rules=rules_of(spec.columns),
        )

    def knows(self, fingerprint: str, requirement: Mapping[str, Any]) -> bool:
        """Whether the verdicts hold for this frequency set and requirement."""
        return self.fingerprint == fingerprint and self.requirement == requirement

    def recoding_for(self, spec: Deciding) -> Recoding:
        """What is to be published, for the spec that it was found for; UsageError when that is another by now."""
        if self.flexible is None:
            return FullDomain.from_levels(spec.quasi_identifiers, self.levels_for(spec))
        self._require_spec(spec)
        if self.hierarchies.keys() != set(spec.quasi_identifiers):
            raise UsageError("the lock file does not name the quasi-identifiers of the spec: plan again")
        groups = self.flexible.in_groups()
        if groups is not None:
            self._require_levels_of_groups(groups, spec)
        self._require_sums(spec)
        return self.flexible

    def _require_levels_of_groups(self, cuts: Cuts, spec: Deciding) -> None:
        if cuts.columns != spec.quasi_identifiers:
            raise UsageError("the lock file does not name the quasi-identifiers of the spec: plan again")
        for name in cuts.columns:
            self._require_level(name, cuts.level_of(name), spec)

    def _require_level(self, name: str, level: int, spec: Deciding) -> None:
        """UsageError unless a column may be released at a level."""
        bounds, height = spec.columns[name].levels, self.hierarchies[name]["height"]
        highest = height if bounds.max is None else min(bounds.max, height)
        if not bounds.min <= level <= highest:
            raise UsageError(
                f"the lock file has column '{name}' at level {level}, which the spec does not allow: plan again"
            )

    def _require_spec(self, spec: Deciding) -> None:
        if self.spec_hash != spec.hash():
            changed = ", ".join(changed_parts(self.spec_parts, spec.parts())) if self.spec_parts else ""
            where = f" ({changed})" if changed else ""
            raise UsageError(f"the spec has changed since this lock file was written{where}: plan again")
        given = accepted_columns(spec.columns)
        for name in dict.fromkeys((*self.accepted, *given)):
            if self.accepted.get(name) != given.get(name):
                raise UsageError(
                    f"the lock file was edited: the spec says otherwise at columns.{name}.accept; plan again"
                )
        if dict(self.rules) != rules_of(spec.columns):
            raise UsageError("the lock file was edited: the spec has other rules for columns; plan again")
        # A lock that tells of no parts says nothing wrong of them.
        for part in changed_parts(self.spec_parts, spec.parts()) if self.spec_parts else ():
            raise UsageError(f"the lock file was edited: its spec_parts do not fit '{part}' of the spec; plan again")

    def _require_sums(self, spec: Deciding) -> None:
        """UsageError when figures that follow from others and from the levels are not what follows."""
        follow: dict[str, Any] = {}
        if self.result.get("rows") is not None:
            follow["limit"] = spec.privacy.most_suppressed.rows(self.result["rows"])
        if self.flexible is None:
            follow["height"] = sum(self.levels.values())
        for name, value in follow.items():
            if self.result.get(name, value) != value:
                raise UsageError(
                    f"the lock file was edited: result.{name} is not what follows from its levels and its other "
                    f"figures; plan again"
                )

    def differences(self, rows: int, suppressed: int) -> Iterator[str]:
        """What a publication found otherwise than the plan: the data have changed, or the file was edited."""
        for name, found in (("rows", rows), ("suppressed", suppressed)):
            if self.result.get(name) != found:
                yield (
                    f"the lock file says result.{name} {self.result.get(name)}, and {found} were found: the source has "
                    f"changed since the plan, or the lock file was edited"
                )

    def levels_for(self, spec: Deciding) -> dict[str, int]:
        """The levels, for the spec that they were found for; UsageError when it is another by now."""
        self._require_spec(spec)
        if self.flexible is not None:
            raise UsageError(f"{self.result.get('algorithm')} gives columns no levels to compare")
        if not self.levels.keys() == self.hierarchies.keys() == set(spec.quasi_identifiers):
            raise UsageError("the lock file does not name the quasi-identifiers of the spec: plan again")
        for name, level in self.levels.items():
            self._require_level(name, level, spec)
        self._require_sums(spec)
        return self.levels

    def fits(self, spec: Deciding) -> bool:
        """Whether it was made from this spec as it now stands."""
        try:
            self.recoding_for(spec)
        except UsageError:
            return False
        return True

    def require_source(self, now: Mapping[str, str]) -> None:
        """UsageError when the columns that the release reads are no longer as they were: new, gone, of another kind."""
        if not self.source or self.source == now:
            return
        changes = ", ".join(columns_changed(self.source, now))
        raise UsageError(f"the source's schema has changed since this lock file was written ({changes}): plan again")

    def require_requirement(self, now: Mapping[str, Any]) -> None:
        """UsageError when the plan was made for another requirement than the spec states."""
        changed = [key for key in dict.fromkeys((*self.requirement, *now)) if self.requirement.get(key) != now.get(key)]
        if changed:
            listed = ", ".join(changed)
            raise UsageError(f"the lock file was written for another requirement (privacy: {listed}): plan again")

    def require_definitions(self, now: Mapping[str, str]) -> None:
        """UsageError when a hierarchy is defined otherwise than it was."""
        for name, known in self.hierarchies.items():
            if now[name] != known.get("definition"):
                raise self._other_hierarchy(name)

    def require_hierarchies(self, now: Mapping[str, Mapping[str, Any]]) -> None:
        """UsageError when a hierarchy is no longer as it was: its definition, its height or its top."""
        for name, known in self.hierarchies.items():
            if any(now[name][part] != known.get(part) for part in ("definition", "height", "top")):
                raise self._other_hierarchy(name)

    @staticmethod
    def _other_hierarchy(name: str) -> UsageError:
        return UsageError(f"the hierarchy of column '{name}' has changed since this lock file was written: plan again")

    @property
    def sensitive(self) -> bool:
        """Whether values of the source are in it: groups hold every value, also those of suppressed rows."""
        return self.flexible is not None and self.flexible.holds_values

    def to_json(self) -> str:
        """What is decided, for review: the text of the lock file."""
        content = {
            "version": VERSION,
            "spec": self.spec,
            "spec_hash": self.spec_hash,
            "spec_parts": dict(self.spec_parts),
            "source": {"columns": dict(self.source), "fingerprint": self.fingerprint},
            "recoding": {"kind": FullDomain.kind, "levels": self.levels}
            if self.flexible is None
            else self.flexible.to_dict(),
            "hierarchies": self.hierarchies,
            "requirement": self.requirement,
            "result": {name: self.result[name] for name in FOUND if name in self.result},
            "search": {name: self.result[name] for name in SEARCHED if name in self.result},
        }
        if self.sensitive:
            content["sensitive"] = SENSITIVE
        if self.recipient is not None:
            content["recipient"] = self.recipient
        if self.accepted:
            content["accepted"] = dict(self.accepted)
        if self.rules:
            content["rules"] = dict(self.rules)
        content["seal"] = seal_of(content)
        return f"{_laid_out(content)}\n"

    def to_cache(self) -> str:
        """What a plan on the same data need not ask again: the text of the cache."""
        content = {
            "version": CACHE_VERSION,
            "fingerprint": self.fingerprint,
            "requirement": self.requirement,
            "verdicts": _written(self.verdicts),
            **{name: self.result.get(name, []) for name in REMEMBERED},
        }
        content["seal"] = seal_of(content)
        return f"{json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)}\n"

    @classmethod
    def read(cls, path: Path, *, cache: bool = True) -> Lock:
        """The lock in a file, with what the cache beside it knows of the same data; UsageError when it is none."""
        from sqlanon.release.lock_schema import RepeatedKeyError, problem_of, without_repeats

        try:
            content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_repeats)
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        except RecursionError:
            raise UsageError(f"{path}: is not a lock file: it is nested too deeply") from None
        except RepeatedKeyError:
            raise UsageError(f"{path}: is not a lock file: a key stands twice") from None
        except ValueError as error:
            hint = "; `sqlanon plan` makes one from a spec" if path.suffix in (".yaml", ".yml") else ""
            raise UsageError(f"{path}: is not a lock file: it is not JSON{hint}") from error
        version = content.get("version", VERSION) if isinstance(content, dict) else VERSION
        if version != VERSION:
            raise UsageError(f"{path}: is a lock file of another version, this is version {VERSION}: plan again")
        problem = problem_of(content)
        if problem is not None:
            raise UsageError(f"{path}: is not a lock file: {problem}")
        if content["seal"] != seal_of(content):
            raise UsageError(f"{path}: the lock file was edited: its seal does not fit its content; plan again")
        levels = content["recoding"].get("levels", {})
        lock = cls(
            content["spec"],
            content["spec_hash"],
            levels,
            content["hierarchies"],
            content["requirement"],
            {**_empty(REMEMBERED), **content["result"], **content["search"], **_following(content, levels)},
            content["source"]["fingerprint"],
            (),
            content.get("recipient"),
            content["spec_parts"],
            content["source"]["columns"],
            recoding_from_dict(content["recoding"]),
            content.get("accepted") or {},
            content.get("rules") or {},
        )
        return lock.remembering(cache_path(path)) if cache else lock

    def remembering(self, path: Path) -> Lock:
        """With what a cache knows of the same data; as it is where the cache is missing, edited or of other data."""
        from sqlanon.release.lock_schema import Cache

        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            Cache.model_validate(content)
            verdicts = tuple(_verdict(node, entry) for node, entry in content["verdicts"].items())
        except (OSError, ValueError, RecursionError):
            return self
        if content["seal"] != seal_of(content) or not self.knows(content["fingerprint"], content["requirement"]):
            return self
        if any(len(verdict.node) != len(self.hierarchies) for verdict in verdicts):
            return self
        known = {name: content[name] for name in REMEMBERED}
        return replace(self, verdicts=verdicts, result={**self.result, **known})

    def write(self, path: Path, *, cache: bool = True) -> None:
        """Write the file whole or not at all, then the cache; a cache that cannot be written is left out."""
        write_whole(path, self.to_json(), private=self.sensitive)
        if cache:
            with suppress(OSError):
                self._write_cache(cache_path(path))

    def _write_cache(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        unseen = path.parent / ".gitignore"
        if not unseen.exists():
            write_whole(unseen, "# Written by sqlanon: nothing here is for review.\n*\n")
        write_whole(path, self.to_cache(), private=True)


def cache_path(lock: Path) -> Path:
    """Where the cache of a lock file lies.

    >>> cache_path(Path("models/patients.lock.json")).as_posix()
    'models/.sqlanon_cache/patients.lock.json'
    """
    return lock.parent / CACHES / lock.name


def _empty(names: Iterable[str]) -> dict[str, Any]:
    return {name: [] for name in names}


def _following(content: Mapping[str, Any], levels: Mapping[str, int]) -> dict[str, Any]:
    """The figures that follow from others."""
    found = content["result"]
    follow = {"completeness": completeness(found["suppressed"], found["rows"])}
    if content["recoding"]["kind"] == FullDomain.kind:
        heights = tuple(int(content["hierarchies"][name]["height"]) for name in levels)
        follow["accuracy"] = accuracy(tuple(levels.values()), heights)
    return follow


def _laid_out(value: Any, key: str = "", indent: str = "") -> str:
    """JSON in which what changes together stands on one line, so that a diff of it is short.

    >>> print(_laid_out({"recoding": {"levels": {"zip": 1}}, "result": {"rows": 9, "score": {"loss": 0.5}}}))
    {
      "recoding": {
        "levels": {
          "zip": 1
        }
      },
      "result": {"rows": 9, "score": {"loss": 0.5}}
    }
    """
    members = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    nested = key in _A_LINE_EACH or any(isinstance(member, dict | list) for member in members)
    if not members or key in ("result", "search") or not (nested or not indent):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    inner = f"{indent}  "
    if isinstance(value, dict):
        names = {name: json.dumps(name, ensure_ascii=False) for name in sorted(value)}
        lines = [f"{inner}{written}: {_laid_out(value[name], name, inner)}" for name, written in names.items()]
        opening, closing = "{", "}"
    else:
        lines = [f"{inner}{_laid_out(member, '', inner)}" for member in value]
        opening, closing = "[", "]"
    text = ",\n".join(lines)
    return f"{opening}\n{text}\n{indent}{closing}"


def seal_of(content: Mapping[str, Any]) -> str:
    """A fingerprint of everything else that a lock file says, so that an edit of any part is noticed.

    Spaces and the order of keys do not count. It is no signature: whoever edits a file can seal it anew.

    >>> seal_of({"result": {"rows": 12}})[:8] == seal_of({"result": {"rows": 12}, "seal": "old"})[:8]
    True
    >>> seal_of({"result": {"rows": 12}}) == seal_of({"result": {"rows": 13}})
    False
    """
    rest = {key: value for key, value in content.items() if key != "seal"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def lock_path(spec: Path, recipient: str | None = None) -> Path:
    """Where the lock of a spec lies, or that of one of its recipients.

    >>> lock_path(Path("patients.yaml")).name, lock_path(Path("patients.yaml"), "press").name
    ('patients.lock.json', 'patients.press.lock.json')
    """
    return spec.with_name(f"{spec.stem}.lock.json" if recipient is None else f"{spec.stem}.{recipient}.lock.json")


def locks_beside(folder: Path, spec: Path, recipients: Iterable[str]) -> dict[str, Lock]:
    """The lock files of these recipients of a spec that lie in a folder."""
    paths = {name: folder / lock_path(spec, name).name for name in recipients}
    found = {name: Lock.read(path) for name, path in paths.items() if path.is_file()}
    for name, lock in found.items():
        if lock.recipient != name:
            raise UsageError(f"{paths[name]}: is not the lock file of recipient '{name}': plan again")
    return found


def columns_changed(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """How the columns of a source differ from what they were.

    >>> list(columns_changed({"zip": "text", "age": "integer"}, {"zip": "integer", "sex": "text"}))
    ["column 'zip' was text and is integer", "column 'age' is gone", "column 'sex' is new"]
    """
    for name, kind in old.items():
        if name not in new:
            yield f"column '{name}' is gone"
        elif new[name] != kind:
            yield f"column '{name}' was {kind} and is {new[name]}"
    yield from (f"column '{name}' is new" for name in new if name not in old)


def _written(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """One line per node: the vector, then suppressed rows, classes and figures."""
    return {
        " ".join(map(str, verdict.node)): " ".join(
            [
                str(verdict.suppressed),
                str(verdict.classes),
                *([f"least={verdict.least}"] if verdict.least else []),
                *(f"{name}={value!r}" for name, value in verdict.figures.items()),
            ]
        )
        for verdict in verdicts
    }


def _verdict(node: str, entry: str) -> Verdict:
    suppressed, classes, *figures = entry.split(" ")
    named = dict(figure.split("=") for figure in figures)
    least = int(named.pop("least", 0))
    return Verdict(
        tuple(int(level) for level in node.split(" ")),
        int(suppressed),
        int(classes),
        {name: float(value) for name, value in named.items()},
        least,
    )
