"""The release spec: the whole contract as one frozen model, checked as a whole, with a fingerprint of each part.

Pure. Reading YAML, and wording and locating what is found wrong, are the loader's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from math import ceil
from typing import Any, Self

from pydantic import PrivateAttr, model_validator

from sqlanon.errors import UsageError
from sqlanon.hierarchies import Sql
from sqlanon.hierarchies.definition import Finding, refuse
from sqlanon.spec.algorithms import ALGORITHMS, names_of
from sqlanon.spec.findings import (
    adversary_findings,
    differential_findings,
    history_findings,
    honoured_findings,
    recipients_finding,
    rules_findings,
    shared_ledger_findings,
)
from sqlanon.spec.keys import SpecKeys, replaced
from sqlanon.spec.models import QuasiIdentifierGroup
from sqlanon.spec.places import TableSource, TableTarget, ViewTarget, same_place
from sqlanon.spec.privacy import MODELS, PERSONALIZED, with_algorithm
from sqlanon.spec.search import CELL_MODELS

MOST_QUASI_IDENTIFIERS = 100
"""Even two levels of each make more nodes than any search could look at."""
WITHOUT_ROW_SUPPRESSION = frozenset({"AG_", "_AS", "CG_", "_CS"})


def findings_across(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with a spec of one release; of a key that is wrong in itself only that.

    The checks that span keys: each key may be right by itself.
    """
    found = list(_across_keys(spec))
    named = {path for path, _ in found}
    yield from found
    yield from (finding for finding in honoured_findings(spec) if finding[0] not in named)


def _across_keys(spec: SpecKeys) -> Iterator[Finding]:
    yield from _places(spec)
    yield from _columns(spec)
    yield from _requirement(spec)
    yield from _sensitive_models(spec)
    yield from personalized_findings(spec)
    yield from _groups(spec)
    yield from _population(spec)
    yield from _anonymity(spec)
    yield from _model(spec)
    yield from _forms_of_release(spec)
    yield from _search(spec)
    yield from _tags(spec)
    yield from _profile(spec)
    yield from history_findings(spec)
    yield from differential_findings(spec)
    yield from rules_findings(spec)
    yield from adversary_findings(spec)


def _places(spec: SpecKeys) -> Iterator[Finding]:
    if same_place(spec.source, spec.target):
        yield ("target",), "the target is the source; the source is only ever read, name another target"
    population = spec.privacy.population
    if population is not None and same_place(population.source, spec.target):
        yield ("target",), "the target is the population; the population is only ever read, name another target"


def _columns(spec: SpecKeys) -> Iterator[Finding]:
    if not spec.quasi_identifiers:
        yield ("columns",), "at least one column needs the role quasi_identifier"
    number = len(spec.quasi_identifiers)
    if number > MOST_QUASI_IDENTIFIERS:
        what = f"{number} columns are quasi-identifiers, at most {MOST_QUASI_IDENTIFIERS} can be searched"
        yield ("columns",), f"{what}; name those that others know, and drop or merge the rest"
    for name, column in spec.columns.items():
        if isinstance(column.hierarchy, Sql) and not column.hierarchy.starts_with(name):
            yield ("columns", name, "hierarchy", "sql", 0), f"the first level must be the bare column {name}"
    if spec.respondent is not None:
        listed = spec.columns.get(spec.respondent)
        if (spec.default_role if listed is None else listed.role) != "identifier":
            yield (
                ("respondent",),
                f"{spec.respondent} must be a column of role identifier: the key of a person is never released",
            )


def _requirement(spec: SpecKeys) -> Iterator[Finding]:
    asked = spec.privacy.asks_for_k or spec.privacy.beyond_k or spec.privacy.differential is not None
    if not asked and not spec.profiled:
        yield ("privacy",), "at least one requirement must stand, for example k: 5"


def _sensitive_models(spec: SpecKeys) -> Iterator[Finding]:
    for model, position, name in spec.privacy.sensitive_columns():
        if name not in spec.sensitive:
            yield ("privacy", model, position, "column"), f"{name} is not a column of role sensitive"
    flat = {name for name in spec.sensitive if spec.columns[name].hierarchy is None}
    for position, entry in enumerate(spec.privacy.t_closeness):
        if entry.distance == "hierarchical" and entry.column in flat:
            path = ("privacy", "t_closeness", position, "distance")
            yield path, f"hierarchical needs a hierarchy of the sensitive column {entry.column}"
    for model in MODELS:
        yield from _repeated_entries(spec, model)
    if spec.privacy.other_sensitive == "known" and len(spec.sensitive) < 2:
        yield ("privacy", "other_sensitive"), "known needs at least two columns of role sensitive"


def _repeated_entries(spec: SpecKeys, model: str) -> Iterator[Finding]:
    beside = MODELS[model].told_apart_by
    words = f"column and {beside}" if beside else "column"
    seen: set[tuple[str, object]] = set()
    for position, entry in enumerate(spec.privacy.entries(model)):
        subject = (entry.column, getattr(entry, beside) if beside else None)
        if subject in seen:
            yield ("privacy", model, position), f"an entry with the same {words} stands already"
        seen.add(subject)


def _groups(spec: SpecKeys) -> Iterator[Finding]:
    groups = spec.privacy.quasi_identifiers
    needs_k = spec.privacy.asks_for_k and spec.privacy.k is None and not spec.privacy.beyond_k
    for name, group in groups.items():
        path = ("privacy", "quasi_identifiers", name)
        for position, column in enumerate(group.columns):
            if column not in spec.quasi_identifiers:
                yield (*path, "columns", position), f"{column} is not a column of role quasi_identifier"
        if group.k is None and needs_k:
            yield (*path, "k"), "this key is required where neither privacy.k nor another model stands"
    grouped = {column for group in groups.values() for column in group.columns}
    for column in spec.quasi_identifiers:
        if groups and column not in grouped:
            yield ("privacy", "quasi_identifiers"), f"column {column} of role quasi_identifier is in none of them"


def _population(spec: SpecKeys) -> Iterator[Finding]:
    privacy = spec.privacy
    asked = {"k_map": privacy.k_map, "delta_presence": privacy.delta_presence}
    asking = [key for key, value in asked.items() if value is not None]
    if privacy.population is None:
        for key in asking:
            yield ("privacy", key), "privacy.population is required with it: the table of everybody who could be in"
    else:
        if not asking:
            yield ("privacy", "population"), "nothing asks for it; k_map or delta_presence must stand with it"
        for column in privacy.population.columns:
            if column not in spec.quasi_identifiers:
                path = ("privacy", "population", "columns", column)
                yield path, f"{column} is not a column of role quasi_identifier"
    least = 0 if privacy.delta_presence is None else privacy.delta_presence.min
    if least > 0 and not privacy.suppression.limit.is_zero:
        message = "above 0 it needs suppression.limit 0: people who are left out have presence 0"
        yield ("privacy", "delta_presence", "min"), message
    if least > 0 and privacy.several_groupings:
        message = "above 0 it needs a single quasi-identifier, and other_sensitive unknown"
        yield ("privacy", "delta_presence", "min"), message


def _anonymity(spec: SpecKeys) -> Iterator[Finding]:
    privacy, path = spec.privacy, ("privacy", "anonymity")
    if privacy.anonymity == "classic":
        return
    if privacy.k is None:
        yield path, f"{privacy.anonymity} needs privacy.k"
    if spec.respondent is not None:
        yield path, f"{privacy.anonymity} counts rows; remove respondent, or take classic"
    if privacy.quasi_identifiers or privacy.other_sensitive == "known":
        yield path, f"{privacy.anonymity} needs a single quasi-identifier, and other_sensitive unknown"


def _model(spec: SpecKeys) -> Iterator[Finding]:
    model, algorithm, privacy = spec.search.model, spec.search.algorithm, spec.privacy
    cells = ALGORITHMS[algorithm].kind == "cells"
    if cells and model not in CELL_MODELS:
        yield ("search", "model"), f"{algorithm} recodes cells: CG_, _CS or AG_CS must stand here"
    elif model in CELL_MODELS and not cells:
        yield ("search", "algorithm"), f"model {model} recodes cells: {' or '.join(names_of('cells'))} must stand here"
    if model in WITHOUT_ROW_SUPPRESSION and not privacy.suppression.limit.is_zero:
        yield ("privacy", "suppression", "limit"), f"model {model} suppresses no rows; the limit must be 0"
    if model in CELL_MODELS:
        if privacy.k is None or privacy.beyond_k or privacy.several_groupings or spec.respondent is not None:
            yield ("search", "model"), f"model {model} takes k alone, of rows and a single quasi-identifier"
        for name in spec.quasi_identifiers if model != "AG_CS" else ():
            if spec.columns[name].levels.max is not None:
                yield ("columns", name, "levels", "max"), f"model {model} generalizes cells as far as they need"
    if algorithm == "matching" and privacy.k not in {2, 3}:
        yield ("search", "algorithm"), "matching is for k = 2 and k = 3; take forest"
    if algorithm == "fitting" and privacy.anonymity == "classic":
        message = "fitting makes rows that fit, not equal ones; write privacy.anonymity: global (1,k), or take forest"
        yield ("search", "algorithm"), message


def _forms_of_release(spec: SpecKeys) -> Iterator[Finding]:
    """A view and blanked rows hold their classes only where one grouping decides them all."""
    privacy = spec.privacy
    blank = privacy.suppression.mode == "blank"
    if privacy.several_groupings and blank:
        path = ("privacy", "suppression", "mode")
        yield path, "blank needs a single grouping: not with several quasi_identifiers, nor other_sensitive known"
    if spec.regions is not None:
        yield from _regions(spec, spec.regions)
    if isinstance(spec.target, ViewTarget):
        if privacy.several_groupings:
            yield ("target",), "a view needs a single grouping; write a table for several, or for other_sensitive known"
        if blank and (privacy.beyond_k or spec.respondent is not None):
            yield ("target",), "a view with blank rows holds k-anonymity of rows alone; write a table, or drop the rows"


def _regions(spec: SpecKeys, parts: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(spec.target, TableTarget):
        yield ("regions",), "a table of classes stands beside a table; name a table as target"
    if len(parts) > 1 and parts[-1].lower() in ("csv", "tsv", "parquet"):
        yield ("regions",), "a table is expected, not a file; name one as schema.table"
    population = spec.privacy.population
    places = {"target": spec.target, "source": spec.source, "population": population and population.source}
    for what, place in places.items():
        if isinstance(place, TableTarget | TableSource) and place.parts == parts:
            yield ("regions",), f"that is the {what}; name another table"


def _search(spec: SpecKeys) -> Iterator[Finding]:
    search = spec.search
    named: list[tuple[tuple[str | int, ...], str]] = [
        *((("weights", name), name) for name in search.weights),
        *(
            (("constraints", "before", index, side), name)
            for index, pair in enumerate(search.constraints.before)
            for side, name in enumerate(pair)
        ),
        *(
            (("constraints", "forbidden", index, name), name)
            for index, node in enumerate(search.constraints.forbidden)
            for name in node
        ),
    ]
    for path, name in named:
        if name not in spec.quasi_identifiers:
            yield ("search", *path), f"{name} is not a column of role quasi_identifier"
    for name in search.weights:
        if name in spec.columns and "weight" in spec.columns[name].model_fields_set:
            yield ("search", "weights", name), f"the weight of {name} stands at the column already"
    if search.satisfies == "matrix" and (not spec.privacy.only_k or spec.respondent is not None):
        others = "other models, a respondent or several quasi-identifiers"
        yield ("search", "satisfies"), f"matrix decides k-anonymity of rows alone; write counts with {others}"


def _tags(spec: SpecKeys) -> Iterator[Finding]:
    """A column that was forgotten would never be looked at: all quasi-identifiers have tags, or none."""
    tags = {name: spec.columns[name].tag for name in spec.quasi_identifiers}
    missing = [name for name, tag in tags.items() if tag is None]
    if spec.search.algorithm != "mu_argus" or len(missing) == len(tags):
        return
    for name in missing:
        yield ("columns", name, "tag"), "the other quasi-identifiers have tags: write one here too, 0 to leave it out"
    if not missing and not any(tags.values()):
        yield ("columns",), "all tags are 0, and mu_argus would test nothing: tag a quasi-identifier 1, 2 or 3"


def _profile(spec: SpecKeys) -> Iterator[Finding]:
    """Levels of anonymity and a profile say of every quasi-identifier what is asked of it; they stand alone with k."""
    if not spec.profiled:
        return
    privacy, path = spec.privacy, ("privacy", "profile")
    for name in spec.quasi_identifiers:
        if spec.columns[name].anonymity is None:
            yield ("columns", name, "anonymity"), "a level from 0 to 1 is required where there is a profile or a level"
        if privacy.profile and name not in privacy.profile:
            yield path, f"quasi-identifier {name} is missing: write how likely the recipient can link by it, 0 to 1"
    for name in privacy.profile:
        if name not in spec.quasi_identifiers:
            yield (*path, name), f"{name} is not a column of role quasi_identifier"
    asked = [name for name in spec.quasi_identifiers if spec.columns[name].anonymity and spec.known(name)]
    if not asked:
        yield path, "it requires nothing: no column that the recipient can link by has an anonymity above 0"
    elif privacy.k is not None and all(spec.known(name) < 1 for name in asked):
        yield ("privacy", "k"), "with a profile it applies to the columns of weight 1, and there are none: remove it"
    others = {
        "quasi_identifiers": bool(privacy.quasi_identifiers),
        "anonymity": privacy.anonymity != "classic",
        "population": privacy.population is not None,
        "personalized": privacy.personalized is not None,
    }
    for key, stands in others.items():
        if stands:
            yield ("privacy", key), "remove it: a profile and levels of anonymity are the whole requirement"
    if privacy.suppression.mode == "blank":
        yield ("privacy", "suppression", "mode"), "not with a profile: write drop"
    if isinstance(spec.target, ViewTarget):
        yield ("target",), "a view cannot count what levels of anonymity ask for; write a table"
    if spec.search.satisfies == "matrix":
        yield ("search", "satisfies"), "matrix decides k-anonymity alone; write counts with a profile"


LINKING = "linking"
"""The quasi-identifier of the columns that a recipient knows for certain."""

DEPTH = {"columns": 3, "privacy": 2, "search": 2}
"""How deep parts are told apart: columns.zip.hierarchy, privacy.k; other keys of the spec are one part each."""

ORDER = "the order of columns"


def fingerprint(content: Any) -> str:
    """Of a part, or of all of them. Keys are not sorted: the order of columns is the order of distance vectors."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def parts_of(content: Mapping[str, Any]) -> dict[str, str]:
    """A short fingerprint of each part.

    Parts are what decides the release, so that a change can be named by its key.

    >>> list(parts_of({"source": "t", "columns": {"zip": {"role": "identifier"}}, "privacy": {"k": 2}}))
    ['source', 'columns.zip.role', 'privacy.k', 'the order of columns']
    """
    parts = {
        name: fingerprint(part)[:12] for key in content for name, part in _below(key, content[key], DEPTH.get(key, 1))
    }
    return {**parts, ORDER: fingerprint(list(content["columns"]))[:12]}


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts that differ, or stand in only one of two specs; their order only where nothing else differs.

    >>> changed_parts({"source": "a", "privacy.k": "b"}, {"source": "a", "privacy.k": "c", "search.metric": "d"})
    ['privacy.k', 'search.metric']
    """
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return [name for name in names if name != ORDER] or names


def _below(name: str, part: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth == 1 or not isinstance(part, Mapping):
        yield name, part
        return
    for key, value in part.items():
        yield from _below(f"{name}.{key}", value, depth - 1)


class Spec(SpecKeys):
    """A release: what to read, what to write, what it must satisfy."""

    _known_as: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _choose_algorithm(cls, values: Any) -> Any:
        return with_algorithm(values)

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.recipients:
            refuse([*self._recipient_findings(), *self._effective_findings()])
        else:
            unused: list[Finding] = [(("together",), "only a spec with recipients has this")]
            refuse([*(unused if "together" in self.model_fields_set else ()), *findings_across(self)])
        return self

    def for_recipient(self, name: str) -> Spec:
        """The spec of one recipient's release, as if it had been written for that release alone."""
        if name not in self.recipients:
            listed = f"the recipients are {', '.join(self.recipients)}" if self.recipients else "the spec has none"
            raise UsageError(f"no recipient {name!r} in the spec; {listed}")
        recipient = self.recipients[name]
        return self.model_copy(
            update={
                "recipients": {},
                "together": "refuse",
                "own_target": recipient.target,
                "columns": {**self.columns, **recipient.columns},
                "privacy": replaced(self.privacy, recipient.privacy),
                "search": replaced(self.search, recipient.search),
            }
        )

    def of_rows(self, rows: int) -> Spec:
        """The spec with what levels of anonymity and a profile ask for in a source of so many rows, or persons.

        The binsize of a column is its level times its weight in the profile times the rows (Samarati 2001, section 7).
        Each column meets its own; columns of weight 1 also meet together the least of theirs, and k.
        """
        if not self.profiled:
            return self
        sizes = {name: self._binsize(name, rows) for name in self.quasi_identifiers}
        known = [name for name, size in sizes.items() if size and self.known(name) == 1]
        together = max(self.privacy.k or 1, min((sizes[name] for name in known), default=1))
        joint = LINKING
        while joint in sizes:
            joint += " "
        groups = {joint: QuasiIdentifierGroup(columns=tuple(known), k=together)} if known else {}
        for name, size in sizes.items():
            if size and (name not in known or size > together):
                groups[name] = QuasiIdentifierGroup(columns=(name,), k=size)
        update = {"quasi_identifiers": groups, "profile": {}}
        return self.model_copy(update={"privacy": self.privacy.model_copy(update=update)})

    def _binsize(self, name: str, rows: int) -> int:
        return ceil((self.columns[name].anonymity or 0) * self.known(name) * rows)

    def hash(self) -> str:
        """A fingerprint of all that decides the release: not of the connection, nor of limits and evidence."""
        return fingerprint(self._deciding())

    def parts(self) -> dict[str, str]:
        """A fingerprint of each part that decides the release, by its key."""
        return parts_of(self._deciding())

    def _deciding(self) -> dict[str, Any]:
        # What stands at its default is left out: a key that later versions add does not make lock files stale.
        content = self.model_dump(mode="json", exclude={"connection", "limits", "evidence"}, exclude_defaults=True)
        return {**content, **self._known_as}

    def known_as(self, source: str, target: str, history: Any = None) -> Spec:
        """The same spec, whose fingerprints go by other names of source, target and history than the database's."""
        named = self.model_copy()
        named._known_as = {"source": source, "target": target, **({} if history is None else {"history": history})}
        return named

    def _recipient_findings(self) -> Iterator[Finding]:
        if self.own_target is not None:
            yield ("target",), "with recipients each has a target of its own; remove this one"
        if self.regions is not None:
            yield ("regions",), "a table of classes belongs to one release; with recipients leave it out"
        for name in self.recipients:
            yield from recipients_finding(self.for_recipient(name))
            if self.for_recipient(name).privacy.differential is not None:
                yield ("recipients",), "with privacy.differential a table is released once; leave one target"
        yield from shared_ledger_findings({name: self.for_recipient(name) for name in self.recipients})
        for (one, first), (other, second) in combinations(self.recipients.items(), 2):
            if same_place(first.target, second.target):
                yield ("recipients", other, "target"), f"recipient {one} has the same target"
            if one.lower() == other.lower():
                yield ("recipients", other), f"the name differs from recipient {one} only in case"
        for name, recipient in self.recipients.items():
            for column in recipient.columns:
                if column not in self.columns and self.default_role is None:
                    path = ("recipients", name, "columns", column)
                    yield path, f"{column} is not among the columns of the spec"

    def _effective_findings(self) -> Iterator[Finding]:
        """What is wrong with each recipient's spec; what all of them inherit is said once, where it stands."""
        found = {name: list(findings_across(self.for_recipient(name))) for name in self.recipients}
        for name, findings in found.items():
            for path, message in findings:
                everywhere = all((path, message) in others for others in found.values())
                inherited = not any(recipient.writes(path) for recipient in self.recipients.values())
                yield (path, message) if everywhere and inherited else (("recipients", name, *path), message)


def personalized_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with a personalized requirement in its spec."""
    asked, algorithm = spec.privacy.personalized, spec.search.algorithm
    if asked is None:
        if algorithm in PERSONALIZED:
            yield ("search", "algorithm"), f"{algorithm} needs privacy.personalized"
        return
    here = ("privacy", "personalized")
    if asked.column not in spec.sensitive:
        yield (*here, "column"), f"{asked.column} is not a column of role sensitive"
    else:
        own = spec.columns[asked.column].hierarchy
        if (own is None) == (asked.taxonomy is None):
            message = "stands at the column already" if own is not None else "is required, here or at the column"
            yield (*here, "taxonomy"), f"the taxonomy of {asked.column} {message}"
    listed = spec.columns.get(asked.guarding)
    if (spec.default_role if listed is None else listed.role) != "identifier":
        message = "must be a column of role identifier: guarding nodes are never released"
        yield (*here, "guarding"), f"{asked.guarding} {message}"
    if asked.primary != (spec.respondent is None):
        say = (
            "true: leave respondent out" if asked.primary else "false needs respondent, the column that names a person"
        )
        yield (*here, "primary"), say
    if algorithm not in PERSONALIZED:
        yield ("search", "algorithm"), f"with privacy.personalized it is {' or '.join(PERSONALIZED)}, not {algorithm}"
    yield from _personalized_alone(spec)


def _personalized_alone(spec: SpecKeys) -> Iterator[Finding]:
    """Classes are made for this requirement alone."""
    privacy = spec.privacy
    if privacy.asks_for_k or privacy.models() or privacy.k_map is not None or privacy.delta_presence is not None:
        yield ("privacy", "personalized"), "it stands alone: no k and no other model beside it"
    if not privacy.suppression.limit.is_zero:
        yield ("privacy", "suppression", "limit"), "with privacy.personalized no row is suppressed"
    if privacy.several_groupings:
        yield ("privacy", "personalized"), "it needs a single quasi-identifier, and other_sensitive unknown"
