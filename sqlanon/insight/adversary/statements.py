"""Statements of attacks on sensitive values within classes: homogeneity, background knowledge, skewness, similarity.

Each is one statement over a table as it stands. A cell is a class with one of its values `v`: `m` rows of it, `size` of
the class, `number` of its values, `place` of this one from the most frequent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.statements.classes import Figures, double
from sqlanon.sql.build import all_of, count, equal, is_null, named, scalar, subquery, total, total_where
from sqlanon.sql.relations import cast, column, literal

Keys = Sequence[exp.Expression]


def same(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Whether two texts are equal, NULL equal to NULL; written so that engines can join by it."""
    alike = equal(_filled(left), _filled(right))
    return all_of([alike, equal(_nullness(left), _nullness(right))])


def _filled(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=value.copy(), expressions=[cast(literal(""), "text")])


def _nullness(value: exp.Expression) -> exp.Expression:
    return exp.Case().when(is_null(value.copy()), literal(1)).else_(literal(0))


def key_names(keys: Keys) -> list[str]:
    return [f"k_{position}" for position in range(len(keys))]


def cells(relation: exp.Expression, keys: Keys, value: exp.Expression) -> exp.Select:
    """The values of every class."""
    names = key_names(keys)
    items = [named(key.copy(), name) for name, key in zip(names, keys, strict=True)]
    inner = exp.select(*items, named(value.copy(), "v"), named(count(), "m")).from_(relation.copy(), copy=False)
    inner = inner.group_by(*(key.copy() for key in keys), value.copy(), copy=False)
    by: list[exp.Expression] = [column(name) for name in names]
    order = exp.Order(expressions=[exp.Ordered(this=column("m"), desc=True)])
    size = cast(exp.Window(this=exp.Sum(this=column("m")), partition_by=[key.copy() for key in by]), "bigint")
    number = exp.Window(this=count(), partition_by=[key.copy() for key in by])
    place = exp.Window(this=exp.RowNumber(), partition_by=[key.copy() for key in by], order=order)
    more = [named(size, "size"), named(number, "number"), named(place, "place")]
    return exp.select(*by, column("v"), column("m"), *more).from_(subquery(inner, "counted"), copy=False)


@dataclass(frozen=True)
class ClassValues:
    """The cells of a table for a FROM clause, under alias `cells`, and how many columns `k_i` tell classes apart."""

    cells: exp.Expression
    width: int

    def names(self) -> list[str]:
        """The columns of a class."""
        return [f"k_{position}" for position in range(self.width)]

    def values(self) -> exp.Select:
        """Every value `v` with its rows `q` in the whole table."""
        rows = cast(exp.Sum(this=column("m", "cells")), "bigint")
        select = exp.select(column("v", "cells"), named(rows, "q")).from_(self.cells.copy(), copy=False)
        return select.group_by(column("v", "cells"), copy=False)


def values_of(relation: exp.Expression, keys: Keys, value: exp.Expression) -> ClassValues:
    """The cells of a relation, counted where they are read."""
    return ClassValues(subquery(cells(relation, keys, value), "cells"), len(keys))


def homogeneity(held: ClassValues) -> tuple[exp.Select, list[str]]:
    """Rows whose class has one value: who finds a person's class knows the value."""
    certain = equal(column("number"), literal(1))
    figures = {
        "rows": total(column("size")),
        "classes": count(),
        "certain": total_where(certain, column("size")),
        "certain_classes": total_where(certain.copy(), literal(1)),
    }
    return _of_classes(held, figures), list(figures)


def background(held: ClassValues, excluded: int) -> tuple[exp.Select, list[str]]:
    """Rows whose class has no more values than somebody can exclude, and one; the highest belief in a value."""
    certain = exp.LTE(this=column("number"), expression=literal(excluded + 1))
    left = exp.Sub(this=double(column("size")), expression=double(column("excluded")))
    belief = exp.Div(this=double(column("most")), expression=exp.Paren(this=left))
    figures = {
        "rows": total(column("size")),
        "classes": count(),
        "certain": total_where(certain, column("size")),
        "certain_classes": total_where(certain.copy(), literal(1)),
        "highest": exp.Max(this=belief),
    }
    others = exp.Between(this=column("place"), low=literal(2), high=literal(excluded + 1))
    most = exp.Max(this=column("m"))
    more = [named(most, "most"), named(total_where(others, column("m")), "excluded")]
    return _of_classes(held, figures, more), list(figures)


def _of_classes(held: ClassValues, figures: Figures, more: Sequence[exp.Expression] = ()) -> exp.Select:
    items = [named(exp.Max(this=column(name)), name) for name in ("size", "number")]
    classes = exp.select(*items, *more).from_(held.cells.copy(), copy=False)
    classes = classes.group_by(*(column(name) for name in held.names()), copy=False)
    return exp.select(*(named(figure, name) for name, figure in figures.items())).from_(
        subquery(classes, "classes"), copy=False
    )


def skewness(held: ClassValues, reference: exp.Select) -> tuple[exp.Select, list[str]]:
    """The largest gain of a value's share in a class over its share of the reference, which has values `v` with their
    rows `q`; both values are texts."""
    everything = exp.Window(this=exp.Sum(this=column("q")))
    shares = exp.select(
        column("v"), named(exp.Div(this=double(column("q")), expression=double(everything)), "share")
    ).from_(subquery(reference, "counted"), copy=False)
    own = exp.Div(this=double(column("m", "cells")), expression=double(column("size", "cells")))
    base = exp.Coalesce(this=column("share", "whole"), expressions=[double(literal(0))])
    found = exp.select(column("size", "cells"), column("place", "cells"), named(own, "own"), named(base, "base")).from_(
        held.cells.copy(), copy=False
    )
    on = same(column("v", "cells"), column("v", "whole"))
    found = found.join(subquery(shares, "whole"), on=on, join_type="left", copy=False)
    gain = exp.Sub(this=column("own"), expression=column("base"))
    gained = exp.select(exp.Star(), named(gain, "gain")).from_(subquery(found, "found"), copy=False)
    best = exp.Window(this=exp.Max(this=column("gain")))
    judged = exp.select(exp.Star(), named(best, "best")).from_(subquery(gained, "gained"), copy=False)
    # Of equal gains the one from the smallest share counts; equal fractions may differ in their last digit.
    almost = exp.Sub(this=column("best"), expression=cast(literal("0.000000000001"), "double"))
    here = exp.GTE(this=column("gain"), expression=almost)
    known = exp.GT(this=column("base"), expression=double(literal(0)))
    ratio = exp.Case().when(known, exp.Div(this=column("own"), expression=column("base")))
    first = equal(column("place"), literal(1))
    figures: dict[str, exp.Expression] = {
        "rows": total_where(first, column("size")),
        "classes": total_where(first.copy(), literal(1)),
        "gain": exp.Max(this=column("gain")),
        "share": exp.Min(this=exp.Case().when(here, column("own"))),
        "whole": exp.Min(this=exp.Case().when(here.copy(), column("base"))),
        "ratio": exp.Max(this=ratio),
    }
    items = [named(figure, name) for name, figure in figures.items()]
    return exp.select(*items).from_(subquery(judged, "judged"), copy=False), list(figures)


def similarity_by_taxonomy(held: ClassValues, taxonomy: exp.Expression, levels: int) -> tuple[exp.Select, list[str]]:
    """Rows whose class has several values, all under one node of each level below the top; values are texts.

    `taxonomy` has the texts `value` and `label_1` to the last level below the top.
    """
    items = [named(exp.Max(this=column(name, "cells")), name) for name in ("size", "number")]
    for level in range(1, levels + 1):
        label = column(f"label_{level}", "taxonomy")
        missing = exp.Max(this=exp.Case().when(is_null(label), literal(1)).else_(literal(0)))
        nodes = exp.Add(this=exp.Count(this=exp.Distinct(expressions=[label.copy()])), expression=missing)
        items.append(named(nodes, f"nodes_{level}"))
        items.append(named(missing.copy(), f"missing_{level}"))
    classes = exp.select(*items).from_(held.cells.copy(), copy=False)
    on = same(column("v", "cells"), column("value", "taxonomy"))
    classes = classes.join(taxonomy, on=on, join_type="left", copy=False)
    classes = classes.group_by(*(column(name, "cells") for name in held.names()), copy=False)
    several = exp.GTE(this=column("number"), expression=literal(2))
    figures: dict[str, exp.Expression] = {"rows": total(column("size")), "classes": count()}
    for level in range(1, levels + 1):
        one = [equal(column(f"nodes_{level}"), literal(1)), equal(column(f"missing_{level}"), literal(0))]
        similar = all_of([several.copy(), *one])
        figures[f"level_{level}"] = total_where(similar, column("size"))
        figures[f"level_{level}_classes"] = total_where(similar.copy(), literal(1))
    wanted = [named(figure, name) for name, figure in figures.items()]
    return exp.select(*wanted).from_(subquery(classes, "classes"), copy=False), list(figures)


def similarity_by_range(
    relation: exp.Expression,
    keys: Keys,
    value: exp.Expression,
    reference: exp.Expression,
    there: exp.Expression,
    within: Decimal,
) -> tuple[exp.Select, list[str]]:
    """Rows whose class has several numbers, none farther apart than a share of the whole range."""
    spread = _spread(value)
    classes = exp.select(
        named(count(), "size"), named(exp.Count(this=value.copy()), "present"), named(spread, "spread")
    ).from_(relation.copy(), copy=False)
    classes = classes.group_by(*(key.copy() for key in keys), copy=False)
    whole = scalar(exp.select(_spread(there)).from_(reference.copy(), copy=False))
    with_whole = exp.select(exp.Star(), named(whole, "whole")).from_(subquery(classes, "sizes"), copy=False)
    part = Fraction(within)
    close = exp.LTE(
        this=exp.Mul(this=column("spread"), expression=double(literal(part.denominator))),
        expression=exp.Mul(this=column("whole"), expression=double(literal(part.numerator))),
    )
    several = all_of(
        [
            equal(column("present"), column("size")),
            exp.GT(this=column("spread"), expression=double(literal(0))),
        ]
    )
    similar = all_of([several, close])
    narrow = exp.Case().when(several.copy(), exp.Div(this=column("spread"), expression=column("whole")))
    figures: dict[str, exp.Expression] = {
        "rows": total(column("size")),
        "classes": count(),
        "similar": total_where(similar, column("size")),
        "similar_classes": total_where(similar.copy(), literal(1)),
        "narrowest": exp.Min(this=narrow),
    }
    wanted = [named(figure, name) for name, figure in figures.items()]
    return exp.select(*wanted).from_(subquery(with_whole, "classes"), copy=False), list(figures)


def _spread(value: exp.Expression) -> exp.Expression:
    greatest, least = double(exp.Max(this=value.copy())), double(exp.Min(this=value.copy()))
    return exp.Paren(this=exp.Sub(this=greatest, expression=least))
