"""The policy of a release beside its models: which columns it has, which labels they show, how many rows are missing.

Asked of the published table alone, with the spec and the definitions of its hierarchies in hand. Shares nothing with
the search or the recodings: what a label may be is read off the hierarchy. Reads counts and labels, writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from sqlanon.auditor.figures import PolicyCheck
from sqlanon.auditor.labels import NUMBERED, RANGES, SHORTENED, ends_of, parts_of
from sqlanon.auditor.policy_statements import (
    LabelQuestion,
    LabelsShown,
    Published,
    blank_rows,
    labels_apart,
    levels_of_labels,
    null_rows,
    parts_found,
    rows_apart,
)
from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.source.binding import ORDERED, Binding, live_domain
from sqlanon.source.drafts import draft_hierarchy
from sqlanon.spec import Spec
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.relations import Query, Relation

COLUMNWISE = ("lattice", "scheme", "cuts")
"""Kinds of algorithms that generalize a column alike for all rows."""

MOST_LABELS = 50_000
"""Ranges and sets of a column that are read one by one; more are refused, not passed."""


@dataclass(frozen=True)
class ColumnPolicy:
    """A quasi-identifier and the labels that it may show."""

    name: str
    family: Family
    """Of its values in the source."""
    hierarchy: Relation
    """`value` and `label_0` ... `label_<height>`."""
    families: tuple[Family, ...]
    """The kind of the labels of each level."""
    top: str
    levels: tuple[int, ...]
    """The levels that may be released."""
    alike: bool = True
    """All rows show one of these levels; otherwise classes have labels of their own: nodes, ranges and sets."""
    ends_at_values: bool = False
    """Ranges may end at values of people: search.bounds: values asks for it."""
    columnwise: bool = True
    """A column that shows its top to one row shows it to all: levels, and groups of a column's values."""


@dataclass(frozen=True)
class Policy:
    """What a release must be beside anonymous."""

    released: tuple[str, ...]
    """Its columns, in their order."""
    withheld: tuple[str, ...]
    """Identifiers, and the key of the person."""
    columns: tuple[ColumnPolicy, ...]
    blank: bool = False
    """Suppressed rows may stand without their quasi-identifier."""
    source: Relation | None = None
    source_rows: int | None = None
    """Rows of the source, where they are those that were released."""
    limit: int = 0
    """The most rows that may be suppressed."""


def policy_of(binding: Binding, columns: Sequence[ColumnPolicy], source_rows: int | None) -> Policy:
    """The policy of a spec that was bound."""
    spec = binding.spec
    named = {info.name for info in binding.columns}
    keys = (*spec.identifiers, *([] if spec.respondent is None else [spec.respondent]))
    withheld = [name for name in named if name not in binding.released]
    return Policy(
        released=binding.released,
        withheld=tuple(name for name in (*withheld, *keys) if name not in binding.released),
        columns=tuple(columns),
        # Recodings of cells leave no row out: a row that shows `*` everywhere has all of its cells suppressed.
        blank=binding.blank and ALGORITHMS[spec.search.algorithm].kind != "cells",
        source=binding.source,
        source_rows=source_rows,
        limit=0 if source_rows is None else binding.limit_rows(source_rows),
    )


def drafted_columns(engine: Engine, binding: Binding) -> list[ColumnPolicy]:
    """The quasi-identifier with its hierarchies as queries over the source: nothing is written."""
    spec = binding.spec
    columns = []
    for item in binding.quasi_identifiers:
        draft = draft_hierarchy(engine, item, live_domain(engine, binding, item), None)
        kind = ALGORITHMS[spec.search.algorithm].kind
        columns.append(
            ColumnPolicy(
                item.name,
                item.family,
                Query(draft.labelled),
                draft.families,
                draft.top,
                allowed_levels(spec, item.name, draft.height),
                kind == "lattice",
                spec.search.bounds == "values",
                kind in COLUMNWISE,
            )
        )
    return columns


def allowed_levels(spec: Spec, name: str, height: int) -> tuple[int, ...]:
    """The levels of a column that the spec lets a release show."""
    bounds = spec.columns[name].levels
    most = height if bounds.max is None else min(bounds.max, height)
    return tuple(range(min(bounds.min, most), most + 1))


def labels_at_one_level(engine: Engine, published: Relation, policy: Policy) -> LabelQuestion | None:
    """The question whether columns that show one level show its labels alone, for an audit that groups the rows anyway;
    None where there is no such column, or where the rows have to be asked one by one."""
    table = Published.at(engine, published)
    if table.of_fields or not _columns(policy, tuple(table.columns)).satisfied:
        return None
    question = _one_level_question(table, policy)
    return question if question.columns and question.keyed else None


def audit_policy(
    engine: Engine, published: Relation, policy: Policy, counted: Sequence[int] | None = None
) -> tuple[PolicyCheck, ...]:
    """Every sentence of the policy, asked of a published table, view or file.

    `counted` answers `labels_at_one_level` where an audit has asked it of the same relation.
    """
    table = Published.at(engine, published)
    columns = _columns(policy, tuple(table.columns))
    if not columns.satisfied:
        return (columns,)
    blanked = 0
    checks = [columns]
    at_one_level = _of_one_level(engine, table, policy, counted)
    for item in policy.columns:
        check, blanks = at_one_level.get(item.name) or _labels(engine, table, item, blank=policy.blank)
        checks.append(check)
        blanked = max(blanked, blanks)
    if policy.source_rows is not None:
        if policy.blank and not blanked:
            blanked = _blanked_rows(engine, table, policy)
        rows = table.rows(engine) if counted is None else counted[0]
        checks.append(_suppression(policy, policy.source_rows, rows, blanked))
    return tuple(checks)


def _columns(policy: Policy, found: tuple[str, ...]) -> PolicyCheck:
    asked = f"{len(policy.released)} columns"
    for name in found:
        if name in policy.withheld:
            return PolicyCheck("columns", asked, f"column '{name}' is withheld by the spec and stands in the table")
        if name not in policy.released:
            return PolicyCheck("columns", asked, f"the table has a column '{name}' that the spec does not release")
    for name in policy.released:
        if name not in found:
            return PolicyCheck("columns", asked, f"the table lacks the column '{name}'")
    if found != policy.released:
        return PolicyCheck("columns", asked, "the columns stand in another order than the spec releases them")
    return PolicyCheck("columns", asked)


def level_shown(table: Published, item: ColumnPolicy, level: int, *, blank: bool) -> LabelsShown:
    """What a column may show whose rows all show labels of one level; blanked rows show `*`."""
    at_top = level == len(item.families) - 1
    also = [*([item.top] if at_top else []), *([TOP] if blank else [])]
    text = table.label(level, item.families[level], item.family)
    # NULL stays NULL below the top, where everybody shows the same.
    return LabelsShown(item.name, None if at_top else item.hierarchy, text, tuple(also), nulls=not at_top or blank)


def _at_one_level(policy: Policy) -> list[ColumnPolicy]:
    return [item for item in policy.columns if item.alike and len(item.levels) == 1]


def _one_level_question(table: Published, policy: Policy) -> LabelQuestion:
    """Whether the columns whose rows all show one level show its labels alone."""
    items = _at_one_level(policy)
    return LabelQuestion(table, [level_shown(table, item, item.levels[0], blank=policy.blank) for item in items])


def _of_one_level(
    engine: Engine, table: Published, policy: Policy, counted: Sequence[int] | None
) -> dict[str, tuple[PolicyCheck, int]]:
    """The columns whose rows all show one level, asked together; of each its check, and how many rows are blanked."""
    items = _at_one_level(policy)
    if not items:
        return {}
    if counted is None:
        [counted] = engine.query(Statement("policy of labels", _one_level_question(table, policy).counted()))
    total, *counts = (int(number) for number in counted)
    found = {}
    for item, wrong, blanks in zip(items, counts[::2], counts[1::2], strict=True):
        complaint = _complaint(item, _asked(item), wrong, total)
        spared = _blanked(engine, table, item, item.levels[0], blanks) if policy.blank else 0
        found[item.name] = (PolicyCheck(f"labels of {item.name}", _asked(item), complaint), spared)
    return found


def _blanked(engine: Engine, table: Published, item: ColumnPolicy, level: int, stars: int) -> int:
    """Of the rows that show `*`, those that this tells to be blanked: none where it is a label of the level as well.

    At the top it may be what everybody shows, and below it a value that somebody has.
    """
    if not stars or not _tells_blanked(item, level):
        return 0
    label = table.label(level, item.families[level], item.family)
    query = parts_found(table, item.hierarchy, [label], [TOP])
    return 0 if engine.query(Statement(f"labels of {item.name}", query)) else stars


def _blanked_rows(engine: Engine, table: Published, policy: Policy) -> int:
    """Rows that show nothing in any column, as far as they are told from rows that would show nothing anyway."""
    texts = {item.name for item in policy.columns if table.takes_text(item.name)}
    numbers = {item.name for item in policy.columns if item.family is not Family.TEXT}
    found = _rows_without_values(engine, table, policy, texts)
    # Where a table made by a query has no types, a column of numbers looks like one of texts, and shows NULL.
    return found if found or not texts & numbers else _rows_without_values(engine, table, policy, texts - numbers)


def _rows_without_values(engine: Engine, table: Published, policy: Policy, texts: Collection[str]) -> int:
    """Rows that show `*` in every column of `texts` and NULL in the others, and that nobody's own values explain.

    Where a column of texts tells them apart, nobody else shows `*` in it. Where only others do, a NULL may be
    somebody's own: as many rows as the source has NULL in all of them are not counted.
    """
    names = [item.name for item in policy.columns]
    [(total, blank, *shown)] = engine.query(Statement("blanked rows", blank_rows(table, names, texts)))
    telling = [
        item
        for item, number in zip(policy.columns, shown, strict=True)
        if (int(number) if item.columnwise else _tells_blanked(item, max(item.levels)))
    ]
    if not int(blank) or int(blank) == int(total) or not telling or policy.source is None:
        return 0
    if any(item.name in texts and not _shows_star(engine, table, item) for item in telling):
        return int(blank)
    own = null_rows(table, policy.source, [item.name for item in telling if item.name not in texts])
    return max(0, int(blank) - int(engine.query(Statement("rows without a value", own))[0][0]))


def _shows_star(engine: Engine, table: Published, item: ColumnPolicy) -> bool:
    """Whether `*` is a label below the top of its hierarchy."""
    below = [text for level, text in enumerate(_spelled(table, item)) if level < len(item.families) - 1]
    query = parts_found(table, item.hierarchy, below, [TOP])
    return bool(engine.query(Statement(f"labels of {item.name}", query)))


def _tells_blanked(item: ColumnPolicy, level: int) -> bool:
    """Whether the `*` of a blanked row is no label of the level: at the top it may be what everybody shows."""
    return level < len(item.families) - 1 or item.top != TOP


def _labels(engine: Engine, table: Published, item: ColumnPolicy, *, blank: bool) -> tuple[PolicyCheck, int]:
    """Whether all labels of a column may be shown; and how many rows show nothing but that they were suppressed."""
    asked = _asked(item)
    question = rows_apart(table, item.name, item.hierarchy, _spelled(table, item), item.top)
    [row] = engine.query(Statement(f"policy of {item.name}", question, fresh=True))
    total, blanks, nulls, *apart = (int(number) for number in row)
    spared = blanks if blank else 0
    if not blank:
        # NULL stays NULL below the top, where everybody shows the same.
        apart[-1] += nulls
    if item.alike or min(item.levels) == len(apart) - 1:
        level = min(item.levels, key=lambda level: apart[level])
        suppressed = _blanked(engine, table, item, level, spared)
        wrong = apart[level] - suppressed
        # Of a table that somebody else may have made, labels of several levels are as good as those of one.
        if wrong <= 0 or len(item.levels) == 1:
            complaint = _complaint(item, asked, max(wrong, 0), total)
            return PolicyCheck(f"labels of {item.name}", asked, complaint), suppressed
    wrong, unread = _classwise(engine, table, item)
    if unread:
        complaint = f"column '{item.name}' shows more than {MOST_LABELS} labels that no hierarchy has; not measured"
        return PolicyCheck(f"labels of {item.name}", asked, complaint), spared
    return PolicyCheck(f"labels of {item.name}", asked, _complaint(item, asked, wrong, total)), 0


def _asked(item: ColumnPolicy) -> str:
    least, most = min(item.levels), max(item.levels)
    if not item.alike:
        return f"level {least} or above"
    return f"level {least}" if least == most else f"one level from {least} to {most}"


def _complaint(item: ColumnPolicy, asked: str, wrong: int, rows: int) -> str:
    if not wrong:
        return ""
    return f"column '{item.name}': {wrong} of {rows} rows show what is no label of its hierarchy, {asked}"


def _spelled(table: Published, item: ColumnPolicy, *, in_text: bool = False) -> list[exp.Expression]:
    """The texts of the labels of each level as the table has them."""
    families = enumerate(item.families)
    return [table.label(level, family, item.family, in_text=in_text) for level, family in families]


def _classwise(engine: Engine, table: Published, item: ColumnPolicy) -> tuple[int, bool]:
    """Rows whose label is no node at an allowed level and is not made of such; and whether there were too many."""
    query = labels_apart(table, item.name, item.hierarchy, _allowed(table, item), MOST_LABELS + 1)
    found = {
        str(label): int(rows)
        for label, rows in engine.query(Statement(f"labels of {item.name}", query))
        if label != TOP
    }
    if len(found) > MOST_LABELS:
        return 0, True
    return sum(found[label] for label in _not_made_of_nodes(engine, table, item, list(found))), False


def labels_outside(engine: Engine, item: ColumnPolicy, labels: Iterable[str]) -> list[str]:
    """Of some labels, those that a column may not show: no node at an allowed level, and not made of such."""
    table = Published(item.hierarchy, {}, engine.traits)
    texts = sorted(set(labels))
    nodes = _known(engine, table, item, _allowed(table, item), texts)
    return _not_made_of_nodes(engine, table, item, [label for label in texts if label not in nodes])


def _allowed(table: Published, item: ColumnPolicy) -> list[exp.Expression]:
    spelled = _spelled(table, item)
    ways = [spelled, _spelled(table, item, in_text=True)] if table.of_fields else [spelled]
    return [way[level] for way in ways for level in item.levels]


def _not_made_of_nodes(engine: Engine, table: Published, item: ColumnPolicy, labels: Sequence[str]) -> list[str]:
    """The labels that are neither a range nor a set of labels of allowed levels."""
    ways = {label: _read(label, ordered=item.family in ORDERED) for label in labels}
    texts = sorted({text for read in ways.values() for way in read or () for part in way for text in part})
    known = _known(engine, table, item, _allowed(table, item), texts)
    spelled = _spelled(table, item, in_text=True)
    known |= _bounds(engine, table, item, spelled) if min(item.levels) > 0 else set()
    known |= _known(engine, table, item, spelled[:1], texts) if item.ends_at_values else set()
    return [
        label
        for label, read in ways.items()
        if not read or not any(all(set(part) <= known for part in way) for way in read)
    ]


Way = list[tuple[str, ...]]
"""One reading of a label: for each part the labels that it names."""


def _read(label: str, *, ordered: bool) -> list[Way] | None:
    """Every reading of a range or a set; None where a label is neither."""
    bare = NUMBERED.sub("", label)
    for text in dict.fromkeys((label, bare)):
        parts = parts_of(_in_full(text), ordered=ordered)
        if parts is not None:
            # A member of a set that reads like a range may be a label itself: `[1975-1979]` of five years.
            members = parts_of(_in_full(text), ordered=False) if ordered else None
            return [*_combined(parts), *(_combined(members) if members is not None else ())]
        if ordered is False and text.startswith("[") and text.endswith("]"):
            inner = text[1:-1]
            return [[(inner[: cut.start()], inner[cut.end() :])] for cut in RANGES.finditer(inner)]
    return None


def _in_full(label: str) -> str:
    """A set that was too long to list names its first members and, after two dots, its last."""
    place = label.rfind(f", {SHORTENED}")
    if place < 0 or parts_of(label, ordered=False) is not None:
        return label
    return f"{label[:place]}, {label[place + len(SHORTENED) + 2 :]}"


def _combined(parts: Sequence[Sequence[tuple[str, str, str]]]) -> Iterator[Way]:
    """Readings of the whole from the readings of its parts; the number is kept small, for each part is judged alone."""
    widest = max(len(ways) for ways in parts)
    for number in range(widest):
        chosen = [ways[min(number, len(ways) - 1)] for ways in parts]
        yield [_ends(*part) for part in chosen]


def _ends(kind: str, low: str, high: str) -> tuple[str, ...]:
    """The labels or bounds that a part names; an interval may be open at one end."""
    if kind == "null":
        return ()
    return tuple(end for end in (low, high) if end or kind != "interval")


def _known(
    engine: Engine, table: Published, item: ColumnPolicy, allowed: Sequence[exp.Expression], texts: list[str]
) -> set[str]:
    """Of some texts, those that are labels at an allowed level."""
    known = {item.top, TOP}
    remaining = iter(texts)
    while batch := list(islice(remaining, 1000)):
        query = parts_found(table, item.hierarchy, allowed, batch)
        known |= {str(text) for (text,) in engine.query(Statement(f"labels of {item.name}", query))}
    return known


def _bounds(engine: Engine, table: Published, item: ColumnPolicy, spelled: Sequence[exp.Expression]) -> set[str]:
    """Where labels of the least allowed level begin and end: `[20-29]` begins at 20 and ends at 29."""
    least = spelled[min(item.levels)]
    query = levels_of_labels(table, item.hierarchy, least, MOST_LABELS)
    found: set[str] = set()
    for (label,) in engine.query(Statement(f"labels of {item.name}", query)):
        found |= set(ends_of(str(label)))
    return found


def _suppression(policy: Policy, source_rows: int, rows: int, blanked: int) -> PolicyCheck:
    asked = f"at most {policy.limit} of {source_rows} rows"
    missing = source_rows - rows
    if missing < 0:
        return PolicyCheck("suppression", asked, f"the table has {-missing} rows more than its source")
    if missing + blanked > policy.limit:
        return PolicyCheck(
            "suppression",
            asked,
            f"{missing + blanked} of {source_rows} rows of the source are suppressed, at most {policy.limit} may be",
            blanked,
        )
    return PolicyCheck("suppression", asked, blanked=blanked)
