"""What is wrong with a spec across its keys: each finding names its key, and none of them is ignored.

Pure. Four kinds: keys that the algorithm does not honour (only those that somebody wrote, with a value that asks for
something); what voids the guarantee of a differential release, which holds for a rule that was fixed before anybody saw
the data (levels of hierarchies that are written out, every released column a part of the class, one row a person, one
release of a table); what a ledger cannot be kept of; rules of columns that do not fit what is asked of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from sqlanon.errors import UsageError
from sqlanon.hierarchies import Csv, Date, Ending, Family, HierarchySpec, Interval, Mask, Suppression, Tree
from sqlanon.hierarchies.definition import Finding, KeyPath
from sqlanon.spec.algorithms import ALGORITHMS, ITSELF, KEYS, PASSED_ON, AlgorithmRow, Key, Only
from sqlanon.spec.keys import REQUIRED, KeptHistory, SpecKeys
from sqlanon.spec.places import QuerySource, TableSource, TableTarget, ViewTarget
from sqlanon.spec.privacy import MODELS
from sqlanon.spec.rules import Shift

WRITTEN_OUT = (Csv, Date, Interval, Mask, Suppression, Tree)
"""Hierarchies whose labels the spec and its files give; `table` and `sql` read the database."""


def differential_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What voids the guarantee of a differential release."""
    if spec.privacy.differential is None:
        return
    here = ("privacy", "differential")
    for key in sorted(spec.privacy.model_fields_set - {"differential"}):
        yield ("privacy", key), "with privacy.differential remove it: k and what is suppressed follow from epsilon"
    if spec.respondent is None:
        yield here, "it protects persons: name the column that tells them apart as respondent"
    yield from _columns(spec)
    constraints = spec.search.constraints
    choosing = {
        "prefer": spec.search.prefer,
        "constraints": constraints.before or constraints.forbidden,
        "model": spec.search.model,
    }
    for key, written in choosing.items():
        if written:
            yield ("search", key), "with privacy.differential the levels are given; remove it"
    if isinstance(spec.source, QuerySource):
        message = "with privacy.differential name a table: the rows of a query may depend on other people's rows"
        yield ("source",), message
    if isinstance(spec.own_target, ViewTarget):
        yield ("target",), "a view would be drawn anew each time it is read; with privacy.differential name a table"
    if spec.history is not None:
        yield ("history",), "with privacy.differential a table is released once; remove it"
    if spec.regions is not None:
        yield ("regions",), "with privacy.differential nothing but the sample is released; remove it"
    for name, column in spec.columns.items():
        if column.derive is not None:
            yield ("columns", name, "derive"), "with privacy.differential a column of the table itself must stand here"
        if column.anonymity is not None:
            message = (
                "with privacy.differential remove it: all columns together are the class, whose k follows from epsilon"
            )
            yield ("columns", name, "anonymity"), message


def _columns(spec: SpecKeys) -> Iterator[Finding]:
    if spec.default_role == "insensitive":
        yield ("default_role",), "with privacy.differential unlisted columns cannot be released; write identifier"
    for name, column in spec.columns.items():
        if column.role in ("sensitive", "insensitive"):
            message = (
                "with privacy.differential every released column is part of the class: give it the role "
                "quasi_identifier with levels {min: 0, max: 0}, or identifier to leave it out"
            )
            yield ("columns", name, "role"), message
        if column.role == "quasi_identifier":
            if column.levels.max is None or column.levels.min != column.levels.max:
                message = (
                    "with privacy.differential the level is given, not chosen: write the same number as min and max"
                )
                yield ("columns", name, "levels"), message
            problem = _read_from_data(column.hierarchy)
            if problem is not None:
                yield ("columns", name, "hierarchy"), f"with privacy.differential {problem}"


def _read_from_data(hierarchy: HierarchySpec | None) -> str | None:
    """Why the labels of a hierarchy may depend on the data; None where they cannot."""
    if hierarchy is not None and not isinstance(hierarchy, WRITTEN_OUT):
        return "labels must not come from the database; write them out as csv, tree, mask, interval or date"
    if isinstance(hierarchy, Mask) and hierarchy.length is None:
        return "give length: without it the longest value of the column decides"
    if isinstance(hierarchy, Mask) and hierarchy.rule(Family.TEXT).top is Ending.FOUND:
        return "write top, true or false: without it the values decide where the hierarchy ends"
    return None


def history_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with the history of a spec."""
    kept = spec.ledger
    if spec.history == REQUIRED and isinstance(spec.own_target, ViewTarget):
        message = (
            "with history: required name a table: a view changes with its source, and no run compares what it shows"
        )
        yield ("target",), message
    if kept is None:
        return
    yield from _person_key(spec, kept)
    yield from _places(spec, kept)
    yield from _requirement(spec)


def _person_key(spec: SpecKeys, kept: KeptHistory) -> Iterator[Finding]:
    listed = spec.columns.get(kept.key)
    if (spec.default_role if listed is None else listed.role) != "identifier":
        message = f"{kept.key} must be a column of role identifier: the key of a person is never released"
        yield ("history", "key"), message
    left = None if kept.left is None else spec.columns.get(kept.left)
    if kept.left is not None and (spec.default_role if left is None else left.role) != "identifier":
        yield ("history", "left"), f"{kept.left} must be a column of role identifier: who has left is never released"
    if kept.left == kept.key:
        yield ("history", "left"), "that is the key of the person; name the column that says who has left"
    if spec.respondent not in (None, kept.key):
        yield ("respondent",), f"history.key says that {kept.key} names the person; write the same column"


def _places(spec: SpecKeys, kept: KeptHistory) -> Iterator[Finding]:
    population = spec.privacy.population
    places = {"target": spec.own_target, "source": spec.source, "population": population and population.source}
    for what, place in places.items():
        if isinstance(place, TableTarget | TableSource) and place.parts == kept.ledger:
            yield ("history", "ledger"), f"that is the {what}; name another table"
    if spec.regions == kept.ledger:
        yield ("history", "ledger"), "that is the table of regions; name another table"
    if isinstance(spec.own_target, ViewTarget):
        yield ("target",), "with a ledger it is a table or a file: a view changes with its source, and no run sees how"


def _requirement(spec: SpecKeys) -> Iterator[Finding]:
    """A ledger asks the requirement of groups of people within a class: it must be one that groups can have."""
    privacy = spec.privacy
    if privacy.suppression.mode == "blank":
        yield ("privacy", "suppression", "mode"), "with a ledger write drop: a blanked row is in no class"
    unfit = {
        "quasi_identifiers": bool(privacy.quasi_identifiers),
        "other_sensitive": privacy.other_sensitive == "known",
        "anonymity": privacy.anonymity != "classic",
        "population": privacy.population is not None,
        "personalized": privacy.personalized is not None,
        "profile": spec.profiled,
        # The values of people who are gone are remembered nowhere: what is asked of shares could not be told of them.
        "alpha": bool(privacy.alpha),
        "t_closeness": bool(privacy.t_closeness),
        "beta_likeness": bool(privacy.beta_likeness),
        "delta_disclosure": bool(privacy.delta_disclosure),
    }
    for key, stands in unfit.items():
        if stands:
            yield ("privacy", key), "a ledger cannot be kept with it; remove it, or remove history"


def rules_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with the rules by which columns are released or derived."""
    judged = judged_columns(spec)
    for name, column in spec.columns.items():
        if column.derive is not None:
            yield from _derived(spec, name)
        if column.release is None:
            continue
        path = ("columns", name, "release")
        if name in judged and (column.dropped or column.averaged or (column.rule and column.rule.shift)):
            yield path, f"models judge what is published of {name}; take another rule, or remove the model"
        if spec.privacy.personalized is not None and name in judged:
            yield path, "privacy.personalized generalizes this column itself; remove one of them"
        if column.averaged and spec.ledger is not None:
            yield path, "the ledger of history holds people back once classes are made; take another rule"
        if (column.averaged or (column.rule and column.rule.cap)) and not (spec.privacy.asks_for_k or spec.profiled):
            yield path, "it needs privacy.k: the people whom a value stands for must be at least k"
    yield from _shifts(spec)
    for name in spec.columns:
        yield from _pseudonym(spec, name)


def _pseudonym(spec: SpecKeys, name: str) -> Iterator[Finding]:
    """All rows of a pseudonym are one person's, and what it joins must be safe together."""
    asked, path = spec.columns[name].pseudonym, ("columns", name, "pseudonym")
    if asked is None:
        return
    if spec.respondent != name:
        yield path, f"all rows of one pseudonym are one person: write respondent: {name}"
    if not (spec.privacy.asks_for_k or spec.profiled):
        yield path, "it needs privacy.k: at least k people share the classes of all rows of a person"
    if spec.privacy.differential is not None:
        yield path, "with privacy.differential nothing joins rows; remove it"
    if isinstance(spec.own_target, ViewTarget):
        yield path, "a view cannot hold a secret; name a table as target"
    if asked.scope != "release" and spec.ledger is None:
        message = "releases would join by it, and nobody sees to it that they are safe together"
        yield (*path, "scope"), f"{message}; keep a ledger (history), or write release"
    if asked.format == "integer" and asked.scope != "release":
        yield (*path, "format"), "numbers are drawn anew in each release; with this scope write hex, base32 or uuid"


def judged_columns(spec: SpecKeys) -> frozenset[str]:
    """The sensitive columns that classes are judged by."""
    personalized = spec.privacy.personalized
    own = () if personalized is None else (personalized.column, personalized.guarding)
    return frozenset((*own, *(spec.sensitive if spec.privacy.other_sensitive == "known" else spec.measured_sensitive)))


def _derived(spec: SpecKeys, name: str) -> Iterator[Finding]:
    derive = spec.columns[name].derive
    base = None if derive is None else spec.columns.get(derive.base)
    path = ("columns", name, "derive")
    if derive is None or base is None:
        return
    if derive.base == name:
        yield path, "it is made from a column of the source; give the derived one another name"
    elif base.derive is not None:
        yield path, f"{derive.base} is derived itself; name the column of the source"
    elif base.role in ("sensitive", "insensitive") and not base.dropped:
        yield path, f"{derive.base} is released beside it; give {derive.base} the role identifier or quasi_identifier"


def _shifts(spec: SpecKeys) -> Iterator[Finding]:
    shifts = shifts_of(spec)
    first = next(iter(shifts.values()), None)
    for name, shift in shifts.items():
        path = ("columns", name, "release", "shift")
        if spec.respondent is None:
            yield path, "all dates of a person move alike: name the column that tells persons apart as respondent"
        if shift != first:
            yield path, f"all dates of a person move alike: write what stands at {next(iter(shifts))}"
        if isinstance(spec.own_target, ViewTarget):
            yield path, "a view cannot hold a secret; name a table as target, or take another rule"


def shifts_of(spec: SpecKeys) -> dict[str, Shift]:
    """The columns of dates that are shifted."""
    rules = {name: column.rule for name, column in spec.columns.items()}
    return {name: rule.shift for name, rule in rules.items() if rule is not None and rule.shift is not None}


def pseudonyms_of(spec: SpecKeys) -> list[str]:
    """The identifiers that are released under pseudonyms."""
    return [name for name, column in spec.columns.items() if column.pseudonym is not None]


WITHOUT_SECRETS = {
    "script": "a script would show it; publish with sqlanon run or apply",
    "dbt": "a model would show it; publish with sqlanon run or apply",
}
"""What is written down, and so cannot hold a secret."""


def refuse_secrets(spec: SpecKeys, name: str) -> None:
    """UsageError where a command writes down what is made with a secret."""
    made = [f"{column}.release.shift" for column in shifts_of(spec)]
    made += [f"{column}.pseudonym" for column in pseudonyms_of(spec)]
    for key in made if name in WITHOUT_SECRETS else ():
        raise UsageError(f"columns.{key}: it is made with a secret, and {WITHOUT_SECRETS[name]}")


def adversary_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with the defences of a spec against somebody who knows the algorithm."""
    asked = spec.privacy.adversary
    if asked is None:
        return
    here = ("privacy", "adversary")
    row = ALGORITHMS[spec.search.algorithm]
    if row.kind == "cells" and asked.slack is None and _refusal(spec, row, _key("slack"), 1) is not None:
        yield (*here, "slack"), f"{row.name} does not see to it; write slack: 0, or use forest with model CG_ or _CS"
    elif asked.model_dump(exclude_none=True) == {} and _refusal(spec, row, _key("slack"), 1) is not None:
        yield here, f"it asks for nothing but slack, which {row.name} does not honour; write what it does, or slack: 0"
    if asked.margin is not None:
        if spec.privacy.k is None:
            yield (*here, "margin"), "it raises privacy.k, which is not written; write k"
        if spec.privacy.quasi_identifiers or spec.profiled:
            yield (*here, "margin"), "it raises one k; leave a single quasi-identifier with privacy.k, or remove it"
        if isinstance(spec.own_target, ViewTarget):
            yield (*here, "margin"), "whoever reads a view can read its query, and k with it; name a table as target"
    if asked.suppression is not None:
        if isinstance(spec.own_target, ViewTarget):
            yield (*here, "suppression"), "a view suppresses what it must when it is read; name a table as target"
        if spec.ledger is not None:
            yield (*here, "suppression"), "a ledger holds people back one by one; remove it, or remove history"
    if asked.choice is not None and spec.search.prefer:
        yield ("search", "prefer"), "privacy.adversary.choice draws the vector; remove one of the two"


WITHOUT_DEFENCE = {
    "script": ("margin", "suppression"),
    "dbt": ("margin", "suppression"),
    "grid": ("margin", "suppression", "choice"),
}
"""Defences that something is not made for: a script and a model show k, and suppress what they must when they run."""


WITHOUT_HISTORY = {
    "script": "a script does not compare with the table that it replaces; keep a ledger, or publish with sqlanon run",
    "dbt": "a model built by dbt does not compare with the table that it replaces; keep a ledger, or use sqlanon run",
    "grid": "a grid does not look at earlier releases; plan each requirement by a spec of its own",
}
"""What does not look at earlier releases: to leave them out without a word would be a leak."""


def honoured_findings(spec: SpecKeys, *names: str) -> Iterator[Finding]:
    """Every key that is written and not honoured; with names, only of these keys of the table."""
    row = ALGORITHMS[spec.search.algorithm]
    for key in KEYS:
        if names and key.name not in names:
            continue
        for path, value in _written(spec, key, row):
            message = _refusal(spec, row, key, value)
            if message is not None:
                yield path, message


def require_honoured(spec: SpecKeys, name: str) -> None:
    """UsageError where the algorithm of a spec does not do what a command asks: a script, a dbt model, a grid."""
    row = ALGORITHMS[spec.search.algorithm]
    message = _refusal(spec, row, _key(name), None)
    if message is not None:
        raise UsageError(f"search.algorithm: {message}")
    refuse_secrets(spec, name)
    if name in WITHOUT_HISTORY and (spec.history == REQUIRED or (spec.ledger is not None and name == "grid")):
        raise UsageError(f"history: {WITHOUT_HISTORY[name]}")
    for defence in WITHOUT_DEFENCE.get(name, ()):
        if spec.privacy.adversary is not None and getattr(spec.privacy.adversary, defence) is not None:
            raise UsageError(
                f"privacy.adversary.{defence}: {_key(name).words} does not honour it; publish with sqlanon run or apply"
            )
    if spec.privacy.differential is not None:
        raise UsageError(
            f"privacy.differential: {_key(name).words} draws no sample and keeps no ledger; publish it with sqlanon run"
        )


def recipients_finding(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with having recipients, by the spec of one of them."""
    row = ALGORITHMS[spec.search.algorithm]
    message = _refusal(spec, row, _key("recipients"), None)
    if message is not None:
        yield ("recipients",), message
    for name, column in spec.columns.items():
        if column.pseudonym is not None and column.pseudonym.scope == "project":
            words = "the releases of all recipients would join by it; write recipient or release"
            yield ("columns", name, "pseudonym", "scope"), words
    if spec.ledger is not None:
        yield from _places(spec, spec.ledger)
        yield from _requirement(spec)


def shared_ledger_findings(recipients: Mapping[str, SpecKeys]) -> Iterator[Finding]:
    """Recipients who share a ledger but not the requirement that is asked of its tracks."""
    asked = {name: spec.privacy.model_dump(exclude={"suppression"}) for name, spec in recipients.items()}
    first = next(iter(asked), None)
    for name, spec in recipients.items():
        if spec.ledger is not None and asked[name] != asked[str(first)]:
            message = f"with a ledger all recipients have one requirement; write that of {first}, or another spec"
            yield ("recipients", name, "privacy"), message


def _key(name: str) -> Key:
    return next(key for key in KEYS if key.name == name)


def _written(spec: SpecKeys, key: Key, row: AlgorithmRow) -> Iterator[tuple[KeyPath, object]]:
    for path in key.paths:
        if path == ("privacy", "*"):
            for model in MODELS:
                yield from _at(spec.privacy, (model,), ("privacy",), key, row)
        elif path[1:2] == ("*",):
            starts: list[tuple[KeyPath, BaseModel]] = [
                ((path[0], name), column) for name, column in spec.columns.items()
            ]
            for start, column in starts:
                yield from _at(column, path[2:], start, key, row)
        elif path == ("target",):
            if spec.own_target is not None and key.counts(spec.own_target):
                yield path, spec.own_target
        else:
            yield from _at(spec, path, (), key, row)


def _at(model: BaseModel, path: tuple[str, ...], start: KeyPath, key: Key, row: AlgorithmRow) -> Iterator[Finding]:
    """The value of a key, where somebody wrote it and it asks for something."""
    name, *below = path
    if name not in model.model_fields_set:
        return
    value = getattr(model, name)
    if below and value is None:
        return
    if below:
        yield from _at(value, tuple(below), (*start, name), key, row)
        return
    # Of a key that is honoured for some values only, also the default is refused when it is written.
    always = key.name in row.only and any(ITSELF in places for places in row.only[key.name].either)
    default = type(model).model_fields[name].get_default(call_default_factory=True)
    if always or (value != default and key.counts(value)):
        yield (*start, name), value


def _refusal(spec: SpecKeys, row: AlgorithmRow, key: Key, value: object) -> str | None:
    """Why a key is refused; None where it is honoured."""
    inner = ALGORITHMS[spec.search.local.algorithm] if row.kind == "local" and key.name in PASSED_ON else row
    if key.name not in inner.honours:
        name = row.name if inner is row else f"{row.name} with search.local.algorithm {inner.name}"
        return f"{key.cannot.format(algorithm=name)}; {_otherwise(spec, row, key)}"
    condition = row.only.get(key.name)
    if key.name in row.honours and (condition is None or _met(spec, condition, value)):
        return None
    how = key.cannot.format(algorithm=row.name)
    if condition is not None:
        how = f"{how}: only {condition.words}" if not key.paths else f"{row.name} honours it only {condition.words}"
    return f"{how}; {_otherwise(spec, row, key)}"


def _met(spec: SpecKeys, condition: Only, value: object) -> bool:
    return any(
        all((value if path == ITSELF else _found(spec, path)) in allowed for path, allowed in places.items())
        for places in condition.either
    )


def _found(spec: SpecKeys, path: str) -> object:
    """The value at a path such as search.mondrian.kind."""
    found: object = spec
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _otherwise(spec: SpecKeys, row: AlgorithmRow, key: Key) -> str:
    """What to do instead: an algorithm that honours the key, if the requirement leaves a choice."""
    alone = spec.privacy.personalized is not None
    others = [
        name
        for name, other in ALGORITHMS.items()
        if key.name in other.honours
        and key.name not in other.only
        and (other.kind == "personalized") == alone
        and other is not row
    ]
    chosen = ["optimal"] if "optimal" in others else others[:2]
    return f"{key.remedy} or use {' or '.join(chosen)}" if chosen else key.remedy.rstrip(",")
