"""What a release keeps of its source: loss of columns, classes, associations, group means, a classification.

Of a column: its level, the leaves that its labels cover, the bits that it lost. Each table is grouped once, into a
scratch table, which is dropped; pairs and groups of columns are counted on that. Results are figures, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import expm1, log1p, sqrt
from typing import Any

from sqlglot import exp

from sqlanon.auditor.covering import spans_of
from sqlanon.auditor.figures import rounded
from sqlanon.auditor.labels import read_labels
from sqlanon.auditor.request import Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.insight import usefulness_statements as utility_sql
from sqlanon.insight.adversary.people import TableSide
from sqlanon.notebook import html_table
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.binding import BoundColumn
from sqlanon.source.combinations import Domain
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Relation, Table, column, literal


@dataclass(frozen=True)
class ColumnUtility:
    """One quasi-identifier before and after."""

    column: str
    values: int
    """Distinct values of the source, NULL among them."""
    labels: int
    """Distinct released labels."""
    level: int | None
    """The level of all its labels; None where they lie at several."""
    height: int
    loss: float
    """0: every value as it was; 1: nothing of it is left."""
    entropy: float | None
    """Bits lost over all rows (non-uniform entropy, suppressed rows included); None without one level."""
    entropy_star: float | None
    """The same without suppressed rows' own term."""
    unknown: int = 0
    """Released rows with a label that its hierarchy does not have; they count as if nothing were left of the value."""


@dataclass(frozen=True)
class TableUtility:
    """The measures of docs/algorithms/metrics.md for a release as it stands."""

    rows: int
    kept: int
    suppressed: int
    classes: int
    completeness: float
    aecs: float
    dm: float
    loss: float
    entropy: float | None
    entropy_star: float | None
    precision: float | None
    height: int | None
    accuracy: float | None


@dataclass(frozen=True)
class Association:
    """Cramer's V of two columns: 0 for none, 1 where one tells the other."""

    columns: tuple[str, str]
    before: float
    after: float
    corrected_before: float
    """Without the association that mere chance gives columns of many values (Bergsma)."""
    corrected_after: float

    @property
    def figures(self) -> tuple[float, float, float, float]:
        return self.before, self.after, self.corrected_before, self.corrected_after


@dataclass(frozen=True)
class GroupMeans:
    """The means of a numeric sensitive column by the released labels of another."""

    column: str
    by: str
    groups: int
    mean_before: float | None
    mean_after: float | None
    average_difference: float | None
    """Of a group's mean before and after, over released rows, in standard deviations of the source."""
    greatest_difference: float | None


@dataclass(frozen=True)
class Classification:
    """How often the sensitive value of a row is guessed right from the rows that look like it, itself left out."""

    target: str
    usual_before: float
    """By the most frequent value alone."""
    usual_after: float
    stumps: Mapping[str, tuple[float, float]]
    """By each column alone, before and after."""
    together_before: float
    """Rows classified rightly by all columns together."""
    together_after: float

    @property
    def best(self) -> tuple[str, float, float]:
        """The column that tells most in the source: the decision stump."""
        name = max(self.stumps, key=lambda item: self.stumps[item][0])
        return (name, *self.stumps[name])


@dataclass(frozen=True)
class UtilityResult:
    """What a release keeps."""

    source: str
    target: str
    table: TableUtility
    columns: tuple[ColumnUtility, ...]
    associations: tuple[Association, ...]
    means: tuple[GroupMeans, ...]
    classifications: tuple[Classification, ...]
    notes: tuple[str, ...] = ()
    queries: Mapping[str, Mapping[str, float]] | None = None
    """Relative errors of count queries, by type and of all; None where none were asked."""

    @property
    def association_change(self) -> float | None:
        """The mean of how far the corrected V of a pair moved."""
        moved = [abs(item.corrected_before - item.corrected_after) for item in self.associations]
        return sum(moved) / len(moved) if moved else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "table": asdict(self.table),
            "columns": [asdict(item) for item in self.columns],
            "associations": [asdict(item) | {"columns": list(item.columns)} for item in self.associations],
            "association_change": self.association_change,
            "group_means": [asdict(item) for item in self.means],
            "classification": [_classification(item) for item in self.classifications],
            "queries": None if self.queries is None else {kind: dict(found) for kind, found in self.queries.items()},
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        rows = [
            ("rows kept", f"{self.table.kept} of {self.table.rows}"),
            ("loss", f"{self.table.loss:.4f}"),
            *((f"loss of {item.column}", f"{item.loss:.4f}") for item in self.columns),
        ]
        return html_table(f"sqlanon utility {self.target}", rows)


def _classification(item: Classification) -> dict[str, Any]:
    best, before, after = item.best
    return {
        "target": item.target,
        "usual": {"before": item.usual_before, "after": item.usual_after},
        "stumps": {name: {"before": pair[0], "after": pair[1]} for name, pair in item.stumps.items()},
        "best": {"column": best, "before": before, "after": after},
        "together": {"before": item.together_before, "after": item.together_after},
    }


@dataclass(frozen=True)
class Hierarchy:
    """A quasi-identifier with its stored hierarchy and whether the source has NULL in it."""

    item: BoundColumn
    stored: StoredHierarchy
    has_null: bool
    position: int


def measure_column(
    engine: Engine, hierarchy: Hierarchy, source: TableSide, released: TableSide, rows: int, scratch: Scratch
) -> ColumnUtility:
    """One column; `source` and `released` are the tables by its text alone, blanked rows left out."""
    stored, step = hierarchy.stored, f"utility of {hierarchy.item.name}"
    texts = [text_key(column(f"label_{level}"), family, engine.traits) for level, family in enumerate(stored.families)]
    occurring = stored.measure.kind == "occurring"
    found = utility_sql.labels(stored.table.table, texts, has_null=hierarchy.has_null, occurring=occurring)
    table = scratch.create(step, f"u{hierarchy.position}", found)
    spans = None
    if stored.table.placed:
        spans = _spans(engine, hierarchy, table, released, scratch)
        leaves = stored.table.leaves
    else:
        table = _with_read(engine, hierarchy, table, texts, released, scratch)
        leaves = int(engine.query(Statement(step, utility_sql.leaf_count(table)))[0][0])
    fitting = engine.query(Statement(step, utility_sql.levels_that_fit(table, released)))
    level = min((int(one) for one, number, wanted in fitting if number == wanted and int(one) >= 0), default=None)
    sizes = utility_sql.leaves_listed(table, level)
    if stored.table.placed:
        sizes = utility_sql.leaves_placed(stored.table.table, texts, level, spans, leaves=leaves)
    query = utility_sql.leaves_covered(sizes, literal(leaves), released)
    [(covered, kept, number, unknown)] = engine.query(Statement(step, query))
    bits = missing = None
    if level is not None:
        [(bits, missing)] = engine.query(Statement(step, utility_sql.entropy(table, source, released, level)))
    scratch.drop(table, *([] if spans is None else [spans]))
    shares = int(covered) / leaves + (rows - int(kept))
    return ColumnUtility(
        column=hierarchy.item.name,
        values=stored.values + hierarchy.has_null,
        labels=int(number),
        level=level,
        height=stored.height,
        loss=_loss(shares, rows, leaves),
        entropy=None if bits is None or missing is None else rounded(float(bits) + float(missing)),
        entropy_star=None if bits is None else rounded(bits),
        unknown=int(unknown),
    )


def _spans(engine: Engine, hierarchy: Hierarchy, known: Table, released: TableSide, scratch: Scratch) -> Table | None:
    """The ranges and sets of the release that the hierarchy does not have, with the places that they cover."""
    stored, item, place = hierarchy.stored, hierarchy.item, f"u{hierarchy.position}"
    step = f"utility of {item.name}"
    found = engine.query(Statement(step, utility_sql.unknown_labels(known, released)))
    if not found:
        return None
    values = scratch.create(step, f"{place}o", utility_sql.in_order(stored.table.table))
    domain = Domain(values, stored.values, hierarchy.has_null, True, stored, values, laid_out=True)
    null = stored.values if hierarchy.has_null else None
    labels = sorted(str(label) for (label,) in found)
    table = scratch.create(step, f"{place}s", spans_of(scratch, f"{place}t", labels, domain, item, null=null))
    scratch.drop(values)
    return table


def _with_read(
    engine: Engine,
    hierarchy: Hierarchy,
    known: Table,
    texts: Sequence[exp.Expression],
    released: TableSide,
    scratch: Scratch,
) -> Table:
    """The labels of the hierarchy, with ranges and sets of the release that are read by their form."""
    step, place = f"utility of {hierarchy.item.name}", f"u{hierarchy.position}"
    found = engine.query(Statement(step, utility_sql.unknown_labels(known, released)))
    if not found:
        return known
    labels = sorted(str(label) for (label,) in found)
    read = read_labels(hierarchy.item, hierarchy.stored.table.table, texts, texts[0], labels, scratch, place)
    table = scratch.create(step, f"{place}x", utility_sql.with_read(known, read.table))
    scratch.drop(known, read.table)
    return table


def _loss(shares: float, rows: int, leaves: int) -> float:
    least = rows / leaves
    return max(0.0, (shares - least) / (rows - least)) if leaves > 1 else 0.0


BATCH = 20


@dataclass(frozen=True)
class CountedTables:
    """A table grouped by its quasi-identifier and sensitive columns, in a scratch table."""

    table: Table
    names: dict[str, str]
    """For each column, its name in the scratch table."""
    width: int


def count_tables(
    engine: Engine, tables: Sequence[Relation], columns: Sequence[str], sensitive: Sequence[str], scratch: Scratch
) -> list[CountedTables]:
    """Group each table once."""
    found = []
    for place, table in enumerate(tables):
        opened = Opened.at(engine, table, "source")
        opened.require(*columns, *sensitive)
        keys = frequency_sql.base_keys([opened.key(name) for name in columns], [opened.key(name) for name in sensitive])
        query = frequency_sql.base_groups(opened.expression(), keys)
        made = scratch.create("count combinations", f"b{place}", query)
        found.append(CountedTables(made, dict(zip((*columns, *sensitive), keys, strict=True)), len(columns)))
    return found


def table_figures(
    engine: Engine, released: CountedTables, columns: Sequence[ColumnUtility], rows: int, blanked: int
) -> TableUtility:
    """The measures of a release of so many rows of its source; blanked rows are one class that counts as suppressed."""
    [(classes, found, squares)] = engine.query(
        Statement("measure classes", utility_sql.class_figures(released.table, released.width))
    )
    kept = int(found) - blanked
    classes = int(classes) - bool(blanked)
    suppressed = rows - kept
    levels = [item.level for item in columns]
    known = [level for level in levels if level is not None] if None not in levels else None
    heights = sum(item.height for item in columns)
    relative = [(item.level or 0) / item.height if item.height else 0.0 for item in columns]
    precision = sum((kept * part + suppressed) / rows for part in relative) / len(columns)
    return TableUtility(
        rows=rows,
        kept=kept,
        suppressed=suppressed,
        classes=classes,
        completeness=kept / rows,
        aecs=rows / (classes + bool(suppressed)) if classes or suppressed else 0.0,
        dm=float(int(squares) - blanked**2 + rows * suppressed),
        loss=expm1(sum(log1p(item.loss) for item in columns) / len(columns)),
        entropy=_total([item.entropy for item in columns]),
        entropy_star=_total([item.entropy_star for item in columns]),
        precision=None if known is None else precision,
        height=None if known is None else sum(known),
        accuracy=None if known is None else 1 - sum(known) / heights if heights else 1.0,
    )


def _total(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def associations(engine: Engine, before: CountedTables, after: CountedTables) -> tuple[Association, ...]:
    """Cramer's V of every pair of columns in both tables."""
    pairs = list(combinations(before.names, 2))
    values = [_cramers_v(engine, counted, pairs) for counted in (before, after)]
    return tuple(
        Association(pair, old[0], new[0], old[1], new[1]) for pair, old, new in zip(pairs, *values, strict=True)
    )


def _cramers_v(engine: Engine, counted: CountedTables, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for first in range(0, len(pairs), BATCH):
        batch = [(counted.names[one], counted.names[other]) for one, other in pairs[first : first + BATCH]]
        rows = engine.query(Statement("associations", utility_sql.associations(counted.table, batch)))
        for _, number, ones, others, squares in sorted(rows, key=lambda row: int(row[0])):
            found.append(_v(float(number), int(ones), int(others), float(squares or 1) - 1))
    return found


def _v(rows: float, ones: int, others: int, phi: float) -> tuple[float, float]:
    """V = sqrt(phi / (least values - 1)), phi = chi^2 / N; and the same without its bias (Bergsma 2013)."""
    plain = _root(phi, min(ones, others) - 1)
    if rows < 2:
        return plain, plain
    less = phi - (ones - 1) * (others - 1) / (rows - 1)
    fewer = [values - (values - 1) ** 2 / (rows - 1) for values in (ones, others)]
    return plain, _root(less, min(fewer) - 1)


def _root(phi: float, values: float) -> float:
    return rounded(min(1.0, sqrt(max(0.0, phi) / values))) or 0.0 if values > 1e-9 else 0.0


def group_means(
    engine: Engine, source: Relation, target: Relation, by: str, pairs: Table, sensitive: str
) -> GroupMeans:
    """Means of a number by the released labels of a column, whose `pairs` say which values a label covers."""
    before, after = Opened.at(engine, source, "known"), Opened.at(engine, target, "audited")
    query = utility_sql.group_means(
        TableSide(before.expression(), [before.key(by, as_text=True)]),
        column(sensitive, before.alias),
        TableSide(after.expression(), [after.key(by, as_text=True)]),
        column(sensitive, after.alias),
        pairs,
    )
    [row] = engine.query(Statement("group means", query))
    groups, rows, weighted, greatest, deviation, mean_before, mean_after = row
    scale = float(deviation) if deviation else None
    usable = scale is not None and weighted is not None and rows
    return GroupMeans(
        column=sensitive,
        by=by,
        groups=int(groups),
        mean_before=rounded(mean_before),
        mean_after=rounded(mean_after),
        average_difference=rounded(float(weighted) / float(rows) / scale) if usable and scale else None,
        greatest_difference=rounded(float(greatest) / scale) if scale is not None and greatest is not None else None,
    )


def classify(
    engine: Engine, before: CountedTables, after: CountedTables, columns: Sequence[str], target: str
) -> Classification:
    """Tell a sensitive column from each quasi-identifier, and from all of them."""

    def accuracy(counted: CountedTables, chosen: Sequence[str]) -> tuple[float, float]:
        query = utility_sql.stump(counted.table, [counted.names[name] for name in chosen], counted.names[target])
        [(rows, right, usual)] = engine.query(Statement("classification", query))
        return int(right) / int(rows), int(usual) / int(rows)

    stumps = {name: (accuracy(before, [name])[0], accuracy(after, [name])[0]) for name in columns}
    together_before, usual_before = accuracy(before, columns)
    together_after, usual_after = accuracy(after, columns)
    return Classification(target, usual_before, usual_after, stumps, together_before, together_after)
