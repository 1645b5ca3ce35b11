"""The set-up tab of `sqlanon explore`: roles, hierarchies, k and limit of a spec changed in the browser, and written.

Works on the run that explore has open: profiles the columns of the source, counts the values of one column at a time,
and measures a changed spec with a search of its own. Shows counts, and labels that k rows or more have. Writes the spec
alone, when asked to, and only if its file is as it was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from sqlanon.draft.drafting import proposal_for
from sqlanon.draft.editing import KeyChange, edited, flow, read_at, yaml_text
from sqlanon.draft.grouping import ValueGroups, as_tree, regrouped
from sqlanon.draft.profile import Profile, profile_columns
from sqlanon.draft.rules import Guess, guess_role
from sqlanon.draft.values import MOST_VALUES, ValueQuestions
from sqlanon.engines.base import Statement
from sqlanon.engines.temporaries import write_whole
from sqlanon.errors import InfeasibleError, SpecError, UsageError
from sqlanon.evaluation.problem import problem_of, solve
from sqlanon.hierarchies.base import Family, Formula, Lookup
from sqlanon.planning.decision import hierarchies_of, packed, scanned
from sqlanon.reports.lattice_view import level_names
from sqlanon.reports.values import shares
from sqlanon.reports.wanted import ROLES, Wanted
from sqlanon.source.binding import bind
from sqlanon.source.doubt import refuse_doubted
from sqlanon.source.frequency import Base
from sqlanon.source.run import Run, Stopwatch, refuse_writes
from sqlanon.source.sampling import sampled
from sqlanon.spec import Role, Spec, spec_from_dict
from sqlanon.spec.findings import require_honoured
from sqlanon.spec.load import read_document
from sqlanon.sql.relations import column

OF_QUASI_IDENTIFIERS = ("hierarchy", "levels", "domain", "scheme", "weight", "tag", "anonymity")
"""Keys that go when a column is one no more."""
BY_HAND = ("derive", "release", "pseudonym", "accept")
"""Keys of columns whose role is changed in the file alone."""
MOST_CHIPS = 200
"""Values that can be moved one by one, the most frequent ones."""
MOST_SECONDS = 20.0
"""How long a changed spec is searched."""
WIDEST = 100
"""A longer tree is written group by group on lines of its own."""

Labels = tuple[str, ...]


@dataclass(frozen=True)
class _Values:
    """The values of a column: their rows, and those that may be shown."""

    rows: Mapping[str, int]
    shown: frozenset[str]


@contextmanager
def on_spec(run: Run, spec: Spec) -> Iterator[Run]:
    """The run with another spec of the same source; its tables are dropped when the context ends."""
    with run.scratch.apart("set") as scratch:
        binding = bind(spec, run.engine)
        refuse_writes(run.engine, binding, run.options)
        binding = sampled(run.engine, binding, scratch).prepared(run.engine, scratch)
        yield replace(run, binding=binding, scratch=scratch, watch=Stopwatch())


class SetUp:
    """A spec file being changed."""

    def __init__(self, path: Path, run: Run, base: Base, rare_below: int) -> None:
        """`rare_below`: values with fewer rows, or persons, are counted and not shown."""
        self._rare_below = rare_below
        self.path = path.resolve()
        self.read_again()
        self._run, self._base = run, base
        self._spec = run.binding.asked or run.binding.spec
        self._questions = ValueQuestions(run.engine, run.binding.source, ())
        self._profiles: dict[str, Profile] = {}
        self._values: dict[str, _Values] = {}

    def read_again(self) -> None:
        """Take the file as it is now for what is being changed."""
        data = self._read()
        self._digest = sha256(data).digest()
        text = data.decode("utf-8-sig")
        self._ends = "\r\n" if "\r\n" in text else "\n"
        self._text = text.replace("\r\n", "\n")

    # -- what stands ---------------------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """Every column of the source with its role, the evidence for it and its hierarchy. Reads the source once."""
        binding = self._run.binding
        if not self._profiles:
            found = profile_columns(self._run.engine, binding.source, self._shown_columns())
            self._profiles = {profile.name: profile for profile in found}
        return {
            "columns": [self._column(profile) for profile in self._profiles.values()],
            "roles": list(ROLES),
            "k": None if self._spec.each_own_k else self._spec.privacy.k,
            "limit": str(self._spec.privacy.suppression.limit),
        }

    def _shown_columns(self) -> list[Any]:
        rules = self._run.binding.rules
        hidden = set() if rules is None else set(rules.hidden)
        return [info for info in self._run.binding.columns if info.name not in hidden]

    def _column(self, profile: Profile) -> dict[str, Any]:
        name, guess = profile.name, guess_role(profile)
        listed = self._spec.columns.get(name)
        role = self._role(name)
        by_hand = [key for key in BY_HAND if listed is not None and getattr(listed, key) is not None]
        hierarchy = read_document(self._text).value["columns"].get(name, {}).get("hierarchy")
        return {
            "name": name,
            "kind": profile.kind.lower() or profile.family.value,
            "distinct": profile.distinct,
            "nulls": profile.rows - profile.present,
            "role": role,
            "reason": _evidence(guess, role),
            "by_hand": ", ".join(by_hand),
            "hierarchy": flow(hierarchy) if hierarchy is not None and not _is_tree(hierarchy) else "",
            "tree": _is_tree(hierarchy),
            "proposed": proposal_for(self._run.engine, profile, None).hierarchy,
            "text": profile.family is Family.TEXT,
        }

    def _role(self, name: str) -> str:
        listed = self._spec.columns.get(name)
        return str(self._spec.default_role) if listed is None else listed.role

    # -- groups --------------------------------------------------------------------------------------------------

    def knows(self, name: str) -> bool:
        """Whether the values of a column were counted: its groups are then told without the database."""
        return name in self._values

    def count_values(self, name: str) -> None:
        """Count the values of a column of texts."""
        if self._is_text(name):
            self._values_of(name)

    def groups(self, name: str, wanted: Wanted) -> dict[str, Any]:
        """The groups of a column's values after some changes, as far as they may be shown."""
        if not self._is_text(name):
            return {"why_not": "Only texts are put into groups; other values have intervals, dates or masks."}
        rows = self._listing(name, wanted)
        if rows is None:
            return {
                "why_not": "This hierarchy follows a rule. Lists of values are put into groups: take `suppression`"
                " as its hierarchy to begin."
            }
        values = self._values_of(name)
        if values is None:
            return {"why_not": f"The column has more than {MOST_VALUES} values; group them in a csv file or a table."}
        return {
            "levels": [_board(rows, level, values, self._typed(name, wanted)) for level in range(1, len(rows[0]))],
            "losses": [round(loss, 3) for loss in ValueGroups(rows, "").losses(values.rows)],
            "values": len(rows),
            "hidden": len([row for row in rows if row[0] not in values.shown]),
            "hierarchy": _short(self._hierarchy_text(rows)),
        }  # fmt: skip

    def _typed(self, name: str, wanted: Wanted) -> set[str]:
        """Labels that whoever changes the groups has written, and so knows."""
        return {change.to for change in wanted.groups.get(name, ())}

    def _is_text(self, name: str) -> bool:
        found = [info for info in self._shown_columns() if info.name == name]
        if not found:
            raise UsageError(f"the source has no column '{name}'")
        return found[0].family is Family.TEXT

    def _listing(self, name: str, wanted: Wanted) -> tuple[Labels, ...] | None:
        """The values of a column with their groups, below what stands for all; None where a rule makes the labels."""
        values = self._values_of(name)
        rows = None if values is None else self._rows(name, wanted, values)
        if values is None or rows is None:
            return None
        typed: set[str] = set()
        for change in wanted.groups.get(name, ()):
            shown = typed | {row[change.level] for row in rows if row[0] in values.shown and change.level < len(row)}
            if change.kind in ("move", "rename") and change.label not in shown:
                raise UsageError(f"columns.{name}: there is no such label to {change.kind}")
            try:
                rows = regrouped(rows, [change])
            except ValueError as error:
                raise UsageError(f"columns.{name}: {error}") from None
            typed.add(change.to)
        return rows

    def _rows(self, name: str, wanted: Wanted, values: _Values) -> tuple[Labels, ...] | None:
        text = wanted.hierarchies.get(name) or self._written_hierarchy(name)
        given = {"role": "quasi_identifier", **({"hierarchy": read_at(_hierarchy(name), text)} if text else {})}
        privacy = {"k": 1, "suppression": {"limit": 0}}
        alone = spec_from_dict(
            {"version": 1, "source": "s", "target": "t", "columns": {name: given}, "privacy": privacy}, self.path.parent
        )
        try:
            rule = alone.hierarchy(name).rule(Family.TEXT)
        except ValueError as error:
            raise UsageError(f"columns.{name}.hierarchy: {error}") from None
        match rule:
            case Lookup(rows=listed):
                known = {row[0] for row in listed}
                rest = tuple(_rest(listed, level) for level in range(1, len(listed[0])))
                return (*listed, *((value, *rest) for value in sorted(values.rows) if value not in known))
            case Formula(levels=()):
                return tuple((value,) for value in sorted(values.rows))
            case _:
                return None

    def _written_hierarchy(self, name: str) -> str:
        written = read_document(self._text).value["columns"].get(name, {}).get("hierarchy")
        return "" if written is None else flow(written)

    def _values_of(self, name: str) -> _Values | None:
        """The values of a column, of which only those with k rows, or persons, are ever shown; None of too many."""
        if name not in self._values:
            self.view()
            profile = self._profiles[name]
            if profile.distinct > MOST_VALUES:
                return None
            engine, binding = self._run.engine, self._run.binding
            key = engine.traits.key(column(name, "drafted"), profile.family)
            person = None if binding.respondent is None else binding.respondent.key("drafted", engine.traits)
            relation = engine.traits.relation(binding.source, "drafted")
            query = shares(relation, engine.traits.text(key, profile.family), person, self._rare_below, MOST_CHIPS)
            shown = engine.query(Statement(f"values of {name}", query, fresh=True))
            named = frozenset(str(value) for value, _ in shown if value is not None)
            self._values[name] = _Values(self._questions.counts(profile), named)
        return self._values[name]

    # -- a changed spec ------------------------------------------------------------------------------------------

    def changes(self, wanted: Wanted) -> list[KeyChange]:
        """The keys of the spec that differ."""
        return list(self._changes(wanted))

    def _changes(self, wanted: Wanted) -> Iterator[KeyChange]:
        spec = self._spec
        for name, role in wanted.roles.items():
            if role != self._role(name):
                yield from self._role_changes(name, role)
        for name in {**wanted.hierarchies, **wanted.groups}:
            text = wanted.hierarchies.get(name, "")
            if wanted.groups.get(name):
                rows = self._listing(name, wanted)
                if rows is None:
                    raise UsageError(f"columns.{name}: its values cannot be put into groups")
                text = self._hierarchy_text(rows)
            if text and text != self._written_hierarchy(name):
                read_at(_hierarchy(name), text)
                yield KeyChange(_hierarchy(name), text)
        if wanted.k is not None and wanted.k != spec.privacy.k:
            yield KeyChange(("privacy", "k"), str(wanted.k))
        if wanted.limit is not None and wanted.limit != spec.privacy.suppression.limit:
            yield KeyChange(("privacy", "suppression", "limit"), str(wanted.limit))

    def _role_changes(self, name: str, role: Role) -> Iterator[KeyChange]:
        listed = self._spec.columns.get(name)
        if listed is None:
            self._is_text(name)
            yield KeyChange(("columns", name), f"{{role: {role}}}")
            return
        if any(getattr(listed, key) is not None for key in BY_HAND):
            raise UsageError(f"columns.{name}: it has keys of its role; change it in the file")
        yield KeyChange(("columns", name, "role"), role)
        if role != "quasi_identifier":
            for key in OF_QUASI_IDENTIFIERS:
                if key in listed.model_fields_set and not (key == "hierarchy" and role == "sensitive"):
                    yield KeyChange(("columns", name, key), None)

    def _hierarchy_text(self, rows: Sequence[Labels]) -> str:
        if len(rows[0]) == 1:
            return "suppression"
        # A value or label is text, in which nothing is taken for a variable of the environment.
        tree = as_tree((row[0].replace("${", "$${"), *row[1:]) for row in rows)
        text = flow({"tree": tree})
        if len(text) <= WIDEST:
            return text
        groups = [f"{yaml_text(label)}: {flow(below)}" for label, below in tree.items()]
        return "{tree: {\n      " + ",\n      ".join(groups) + "}}"

    def spec_of(self, wanted: Wanted) -> tuple[str, Spec]:
        """The changed text, and the spec that it makes."""
        text = edited(self._text, self.changes(wanted))
        spec = spec_from_dict(read_document(text).value, self.path.parent, self.path)
        require_honoured(spec, "grid")
        return text, spec

    def measure(self, wanted: Wanted) -> dict[str, Any]:
        """What the spec's search finds under the changed spec: its score, and what each column is released as."""
        started = perf_counter()
        _, spec = self.spec_of(wanted)
        search = spec.search
        seconds = min(search.budget.most_seconds or MOST_SECONDS, MOST_SECONDS)
        budget = search.budget.model_copy(update={"seconds": seconds})
        spec = spec.model_copy(update={"search": search.model_copy(update={"budget": budget})})
        with on_spec(self._run, spec) as run:
            read = not self._reads_the_same(run)
            if wanted.roles and not read:
                refuse_doubted(run.engine, run.binding)
            try:
                base = scanned(run) if read else self._base
                frequency = packed(run, base, hierarchies_of(run, base), again=True)
                problem = problem_of(run, frequency)
                found = solve(problem, problem.evaluator())
            except InfeasibleError as error:
                return {"message": f"Nothing acceptable was found: {error}", **self._cost(started, read)}
            names = level_names(spec, {item.column: (item.height, item.top) for item in frequency.hierarchies})
            levels = dict(zip(run.binding.names, found.chosen.node, strict=True))
            return {
                "metric": found.metric,
                "score": found.score,
                "proven": found.proven,
                "suppressed": found.chosen.suppressed,
                "classes": found.chosen.classes,
                "rows": frequency.rows,
                "limit": problem.limit,
                "levels": [
                    [name, level, words[level]] for (name, level), words in zip(levels.items(), names, strict=True)
                ],
                "changes": [_key_text(change) for change in self.changes(wanted)],
                **self._cost(started, read),
            }

    def _reads_the_same(self, run: Run) -> bool:
        """Whether the scan that stands serves the changed spec."""
        old, new = self._run.binding, run.binding
        if (
            old.rules is not None
            or new.rules is not None
            or old.population is not None
            or new.spec.privacy.differential
        ):
            return False
        keys = [[(item.name, item.family) for item in found.quasi_identifiers] for found in (old, new)]
        return keys[0] == keys[1] and old.sensitive == new.sensitive and old.respondent == new.respondent

    def _cost(self, started: float, read: bool) -> dict[str, Any]:
        return {"seconds": round(perf_counter() - started, 3), "read": read}

    # -- the file ------------------------------------------------------------------------------------------------

    def require_savable(self, wanted: Wanted) -> str:
        """The text to be written; UsageError where nothing changed, where the file did, or where values of the source
        would be named that it does not name yet."""
        text, _ = self.spec_of(wanted)
        if not self.changes(wanted):
            raise UsageError("nothing was changed: the spec stands as it is")
        if sha256(self._read()).digest() != self._digest:
            raise UsageError(f"{self.path.name} was changed meanwhile by somebody else: start explore again")
        named = {name: self._newly_named(name, wanted) for name, changes in wanted.groups.items() if changes}
        told = [
            f"{name}: {len(values)}, of which {self._rare(name, values)}" for name, values in named.items() if values
        ]
        if told and not wanted.names_values:
            raise UsageError(
                f"values of the source would be written into the spec ({'; '.join(told)} are too few to be shown "
                f"here): allow it, or put them into groups in a csv file"
            )
        return text

    def save(self, wanted: Wanted) -> None:
        """Write the spec, whole or not at all."""
        text = self.require_savable(wanted).replace("\n", self._ends)
        try:
            write_whole(self.path, text)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise SpecError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _newly_named(self, name: str, wanted: Wanted) -> set[str]:
        rows = self._listing(name, wanted) or ()
        written = read_document(self._text).value["columns"].get(name, {}).get("hierarchy")
        listed = self._rows(name, Wanted(), _Values({}, frozenset())) if _is_tree(written) else None
        before = {row[0] for row in listed or ()}
        return {row[0] for row in rows} - before if len(rows) and len(rows[0]) > 1 else set()

    def _rare(self, name: str, values: set[str]) -> int:
        known = self._values_of(name)
        return len(values if known is None else values - known.shown)


def _hierarchy(name: str) -> tuple[str, ...]:
    return ("columns", name, "hierarchy")


def _rest(listed: Sequence[Labels], level: int) -> str:
    """The group of values that a list does not have."""
    label, taken = "other", {row[0] for row in listed}
    while label in taken:
        label += " values"
    return label


def _is_tree(hierarchy: object) -> bool:
    """Whether a hierarchy names the values of the source, those with few rows too."""
    return isinstance(hierarchy, dict) and "tree" in hierarchy


def _evidence(guess: Guess, role: str) -> str:
    if guess.role == role:
        return guess.reason
    return f"{guess.reason}: it looks like {guess.role.replace('_', ' ')}"


def _key_text(change: KeyChange) -> str:
    return f"{'.'.join(change.key)}: {'removed' if change.value is None else _short(change.value)}"


def _short(text: str) -> str:
    """A hierarchy as it is shown: trees may hold values that are not."""
    return "tree, as grouped here" if text.startswith("{tree:") else text


def _board(rows: Sequence[Labels], level: int, values: _Values, typed: set[str]) -> dict[str, Any]:
    """The groups of one level with what lies in them; what may not be shown is counted."""
    counted = Counter[str]()
    inner: dict[str, dict[str, int]] = {}
    frequent: set[tuple[int, str]] = set()
    for row in rows:
        number = values.rows.get(row[0], 0)
        counted[row[level]] += number
        below = inner.setdefault(row[level], {})
        below[row[level - 1]] = below.get(row[level - 1], 0) + number
        if row[0] in values.shown:
            frequent |= {(level - 1, row[level - 1]), (level, row[level])}
    groups, hidden = [], 0
    for group, number in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        if (level, group) not in frequent and group not in typed:
            hidden += 1
            continue
        shown = {
            label: found
            for label, found in inner[group].items()
            if (level - 1, label) in frequent or (level > 1 and label in typed)
        }
        groups.append(
            {
                "label": group,
                "rows": number,
                "items": [
                    [label, found] for label, found in sorted(shown.items(), key=lambda item: (-item[1], item[0]))
                ],
                "rare": len(inner[group]) - len(shown),
            }
        )
    return {"groups": groups, "hidden": hidden}
