"""Drafts of hierarchies: from the rule of a column, the query of its hierarchy table, before anything is written.

Asks the database only what the rule leaves to the data: lengths, and whether all values share a last label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import HierarchyError
from sqlanon.hierarchies.base import TOP, Ending, Expressions, Family, Formula, Grouped, Level, Lookup, Reference
from sqlanon.hierarchies.levels import MaskLevel
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source import hierarchy_statements as lookup_sql
from sqlanon.source.binding import BoundColumn
from sqlanon.source.label_statements import label, text_length
from sqlanon.sql.build import equal, is_present
from sqlanon.sql.relations import Query, Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.user_sql import parse_expression


@dataclass(frozen=True)
class HierarchyDraft:
    """A hierarchy table that is about to be built."""

    column: str
    domain: exp.Query
    text: exp.Expression
    """A value of the domain as text."""
    labels: tuple[exp.Expression, ...]
    """The labels of levels 1 to the top: over a `value`, or of listed values over `listed`."""
    families: tuple[Family, ...]
    """The kind of the labels of each level, from 0 to the top."""
    top: str
    listed_labels: exp.Select | None = None
    """The rows of a listing, where labels are listed: `label_0` and the labels above."""
    listing: Lookup | None = None
    listing_table: Table | None = None
    listed: int = 0
    """How many levels above 0 somebody listed value by value: only there can a label be its own ancestor."""
    shared: exp.Expression | None = None
    """The label of the last level over a `value`, where the data made it the top: all values have the same there."""

    @property
    def height(self) -> int:
        return len(self.families) - 1

    @property
    def labelled(self) -> exp.Select:
        """Values with the labels of all levels; reads the listing table when there is one."""
        if self.listed_labels is None:
            return hierarchy_sql.labelled_by_formula(self.domain, self.text, self.labels)
        return hierarchy_sql.labelled_by_list(self.domain, self.text, self.listed_labels, self.labels)

    def lookup(self, level: int, traits: Traits, *, as_defined: bool = False) -> exp.Select:
        """Values with the label and the code of one level, for hierarchies that nobody validates when they are read.

        Left out, so not covered: values without a label, and values that are listed with several. `as_defined`: nobody
        changes the listing table, so that it is known from its definition whether there are any.
        """
        levels = [level] if level else [0, 1]
        labels = {number: self.labels[number - 1] for number in levels if number}
        if self.listed_labels is None:
            labelled = lookup_sql.narrowed_by_formula(self.domain, self.text, labels, level)
            return lookup_sql.lookup(labelled, level, self.families[level], traits)
        listing: exp.Query | Table = lookup_sql.narrowed(self.listed_labels, [0, *labels])
        certain = as_defined and self._listed_once
        if certain and self.listing_table is not None:
            listing = self.listing_table
        labelled = lookup_sql.narrowed_by_list(self.domain, self.text, listing, labels, level)
        family = self.families[level]
        return lookup_sql.lookup(labelled, level, family, traits, once=not certain, certain=certain and level > 0)

    def uncovered(self) -> exp.Select | None:
        """How many values have no label, without a table for them; None where every value has one."""
        first = self.labels[0]
        if isinstance(first, exp.Cast) and isinstance(first.this, exp.Literal):
            return None
        if self.listed_labels is None:
            return lookup_sql.uncovered(self.domain, is_present(first))
        known: exp.Query | list[exp.Expression] = lookup_sql.narrowed(self.listed_labels, [0])
        if self.listing is not None:
            known = [literal(text) for text in dict.fromkeys(row[0] for row in self.listing.rows)]
        return lookup_sql.uncovered(self.domain, lookup_sql.listed(self.text, known))

    def values_beside_top(self, traits: Traits) -> exp.Select | None:
        """How many values do not have the top as their last label; None where the definition ends in one label."""
        if self.shared is None:
            return None
        same = equal(traits.key(self._shared_text(), Family.TEXT), literal(self.top))
        return lookup_sql.uncovered(self.domain, exp.Coalesce(this=same, expressions=[exp.false()]))

    def top_when_read(self) -> exp.Select | None:
        """The top as `label`: what all values share when somebody reads it, else `*`; None where the definition ends in
        one label."""
        return None if self.shared is None else lookup_sql.shared_top(self.domain.copy(), self._shared_text(), TOP)

    def _shared_text(self) -> exp.Expression:
        if self.shared is None:
            raise ValueError("the definition ends in one label")
        return self.shared.copy() if self.families[-1] is Family.TEXT else cast(self.shared.copy(), "text")

    @property
    def _listed_once(self) -> bool:
        """Whether it is known that no value is listed twice."""
        return self.listing is not None and len({row[0] for row in self.listing.rows}) == len(self.listing.rows)

    def listing_columns(self) -> list[str]:
        width = len(self.listing.rows[0]) if self.listing and self.listing.rows else 0
        return [f"label_{level}" for level in range(width)]

    def listing_of(self, level: int | None) -> tuple[list[str], list[tuple[str, ...]]]:
        """The columns and rows of the listing that the lookup of one level reads; None: of all levels."""
        rows = () if self.listing is None else self.listing.rows
        if level is None:
            return self.listing_columns(), list(rows)
        level = level or 1
        return ["label_0", f"label_{level}"], [(row[0], row[level]) for row in rows]


def draft_hierarchy(
    engine: Engine, item: BoundColumn, domain: exp.Query, listing_table: Table | None
) -> HierarchyDraft:
    """Turn a column's rule into the query of its hierarchy table. Without a listing table, listed rows stand in it."""
    text = engine.traits.text(column("value"), item.family)
    match item.rule:
        case Formula():
            return _from_formula(engine, item, item.rule, domain, text)
        case Lookup():
            return _from_listing(item, item.rule, domain, text, listing_table)
        case Reference():
            return _from_table(engine, item, item.rule, domain, text)
        case Expressions():
            return _from_expressions(engine, item, item.rule, domain, text)
        case Grouped():
            return _from_groups(engine, item, item.rule, domain, listing_table)


def _from_formula(
    engine: Engine, item: BoundColumn, rule: Formula, domain: exp.Query, text: exp.Expression
) -> HierarchyDraft:
    levels = _with_lengths(engine, item, rule.levels, domain)
    labels = [label(level, column("value"), item.family, engine.traits) for level in levels]
    shared = _shared_label(engine, item, rule.top, domain, labels[-1]) if isinstance(rule.top, Ending) else None
    top = shared if shared is not None else rule.top if isinstance(rule.top, str) else TOP
    if shared is None:
        labels.append(_constant_top(item, rule, top, engine))
    return HierarchyDraft(
        item.name,
        domain,
        text,
        tuple(labels),
        (Family.TEXT,) * (len(labels) + 1),
        top,
        shared=None if shared is None else labels[-1],
    )


def _shared_label(
    engine: Engine, item: BoundColumn, ending: Ending, domain: exp.Query, last: exp.Expression
) -> str | None:
    """The last label of a formula where it is the top: all values share it. Of no values, it says nothing."""
    labelled = hierarchy_sql.labelled_by_formula(domain.copy(), column("value"), [last.copy()])
    tops, _, first = _last_level(engine, item, labelled, 1)
    if tops > 1 and ending is Ending.LAST:
        raise HierarchyError(
            f"column '{item.name}': its hierarchy ends in {tops} labels, not one; leave out `top: false`, "
            f"or add a step that merges them",
            column=item.name,
            count=tops,
        )
    return first if tops == 1 else None


def _constant_top(item: BoundColumn, rule: Formula, top: str, engine: Engine) -> exp.Expression:
    """The top label. A mask has a greatest length; its top covers no longer value either."""
    masks = [level for level in rule.levels if isinstance(level, MaskLevel) and level.length is not None]
    constant = cast(literal(top), "text")
    if not masks:
        return constant
    fits = exp.LTE(
        this=text_length(column("value"), item.family, engine.traits), expression=literal(masks[0].length or 0)
    )
    return exp.Case().when(fits, constant)


def _with_lengths(engine: Engine, item: BoundColumn, levels: Sequence[Level], domain: exp.Query) -> list[Level]:
    """Masks without a declared length take that of the longest value."""
    if not any(isinstance(level, MaskLevel) and level.length is None for level in levels):
        return list(levels)
    length = text_length(column("value"), item.family, engine.traits)
    statement = Statement(f"longest {item.name}", hierarchy_sql.longest(domain.copy(), length))
    longest = int(engine.query(statement)[0][0] or 1)
    most = max(level.masked for level in levels if isinstance(level, MaskLevel))
    return [level.with_length(max(longest, most)) if isinstance(level, MaskLevel) else level for level in levels]


def _from_listing(
    item: BoundColumn, rule: Lookup, domain: exp.Query, text: exp.Expression, listing_table: Table | None
) -> HierarchyDraft:
    given = len(rule.rows[0]) - 1
    tops = {row[-1] for row in rule.rows}
    constant = _top_above(item.name, given, len(tops), has_star=TOP in tops)
    listing = hierarchy_sql.listing_of_rows(listing_table if listing_table is not None else rule.rows, given)
    labels = hierarchy_sql.listed_labels(given, constant)
    top = constant if constant is not None else next(iter(tops))
    return HierarchyDraft(
        item.name,
        domain,
        text,
        tuple(labels),
        (Family.TEXT,) * (len(labels) + 1),
        top,
        listing,
        rule if listing_table is not None else None,
        listing_table,
        listed=given,
    )


def _from_groups(
    engine: Engine, item: BoundColumn, rule: Grouped, domain: exp.Query, listing_table: Table | None
) -> HierarchyDraft:
    """Values by the groups of their labels; a label that no group has leaves its values outside the hierarchy."""
    under = draft_hierarchy(engine, replace(item, rule=rule.rule), domain, None)
    tops = {group for _, group in rule.rows}
    constant = _top_above(item.name, 1, len(tops), has_star=TOP in tops)
    listing = hierarchy_sql.listing_of_rows(listing_table if listing_table is not None else rule.rows, 1)
    height = 1 + (constant is not None)
    return HierarchyDraft(
        item.name,
        hierarchy_sql.labelled_by_groups(under.labelled, rule.level, listing, constant),
        column("label_0"),
        tuple(column(f"label_{level}") for level in range(1, height + 1)),
        (Family.TEXT,) * (height + 1),
        constant if constant is not None else next(iter(tops)),
        listing=Lookup(rule.rows) if listing_table is not None else None,
        listing_table=listing_table,
        listed=1,
    )


def _from_table(
    engine: Engine, item: BoundColumn, rule: Reference, domain: exp.Query, text: exp.Expression
) -> HierarchyDraft:
    table = Table(rule.table)
    known = {info.name: info for info in engine.columns(table)}
    for name in rule.columns:
        if name not in known:
            raise HierarchyError(f"column '{item.name}': {table} has no column '{name}'", column=item.name)
    infos = [known[name] for name in rule.columns]
    labels = [_label(column(info.name), info.family, engine) for info in infos[1:]]
    first = _label(engine.traits.text(column(infos[0].name), infos[0].family), Family.TEXT, engine)
    listing = hierarchy_sql.listing_of_table(table_expression(table), first, labels)
    families = [Family.TEXT, *(info.family for info in infos[1:])]
    tops, stars, first_label = _last_level(engine, item, listing, len(labels))
    constant = _top_above(item.name, len(labels), tops, has_star=stars > 0)
    above = hierarchy_sql.listed_labels(len(labels), constant)
    families += [] if constant is None else [Family.TEXT]
    return HierarchyDraft(
        item.name,
        domain,
        text,
        tuple(above),
        tuple(families),
        first_label if constant is None else constant,
        listing,
        listed=len(rule.columns) - 1,
    )


def _from_expressions(
    engine: Engine, item: BoundColumn, rule: Expressions, domain: exp.Query, text: exp.Expression
) -> HierarchyDraft:
    where = f"columns.{item.name}.hierarchy.sql"
    labels = [parse_expression(given, engine.dialect, item.name, where) for given in rule.expressions]
    labelled = hierarchy_sql.labelled_by_formula(domain, text, labels)
    infos = engine.columns(Query(labelled))[1:]
    labels = [_label(given, info.family, engine) for given, info in zip(labels, infos[1:], strict=True)]
    labelled = hierarchy_sql.labelled_by_formula(domain, text, labels)
    tops, stars, first_label = _last_level(engine, item, labelled, len(labels))
    constant = _top_above(item.name, len(labels), tops, has_star=stars > 0)
    families = [info.family for info in infos]
    if constant is not None:
        labels.append(cast(literal(constant), "text"))
        families.append(Family.TEXT)
    top = first_label if constant is None else constant
    # An expression that reads no column is the same for all values by definition.
    by_data = constant is None and next(labels[-1].find_all(exp.Column), None) is not None
    return HierarchyDraft(
        item.name, domain, text, tuple(labels), tuple(families), top, shared=labels[-1] if by_data else None
    )


def _label(value: exp.Expression, family: Family, engine: Engine) -> exp.Expression:
    """A label of the database's own: text compares byte-wise, whatever type and collation it came with."""
    return engine.traits.key(value, family) if family is Family.TEXT else value


def _last_level(engine: Engine, item: BoundColumn, labelled: exp.Query, height: int) -> tuple[int, int, str]:
    """How many labels the last given level has, how often `*` is one, and the first of them."""
    statement = Statement(f"top of {item.name}", hierarchy_sql.last_level(labelled.copy(), height, TOP))
    [(tops, stars, first)] = engine.query(statement)
    return int(tops), int(stars), TOP if first is None else str(first)


def _top_above(name: str, level: int, tops: int, *, has_star: bool) -> str | None:
    """`*` above a last level of several labels; None when it is one label already (docs/adr, on tops)."""
    if tops == 1 and level > 0:
        return None
    if has_star and level > 0:
        raise HierarchyError(
            f"column '{name}': the top of its hierarchy, level {level}, has {tops} labels and '{TOP}' is one of them; "
            f"end every value in the same label",
            column=name,
            level=level,
            count=tops,
        )
    return TOP
