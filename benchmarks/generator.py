"""Census-like tables of any size, made inside the engine: skewed, correlated, the same rows on every engine.

Each column draws from its own stream of pseudo-random numbers computed from the row number by whole-number arithmetic
modulo a prime; a shared stream correlates columns. No floating point beyond products, so engines agree to the row.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.sql.build import concat, create_table_as, named, subquery
from sqlanon.sql.relations import Table, cast, column, identifier, literal

PRIME = 2_147_483_647


@dataclass(frozen=True)
class Attribute:
    """A generated quasi-identifier: `values` of them, more skewed the higher `skew`, hierarchy by integer division."""

    name: str
    values: int
    skew: int
    correlation: float
    widths: tuple[int, ...]
    """Width of the groups at each level above 0; a top is added above. Height is one more than their number."""
    numeric: bool = False
    """A whole number rather than a text such as `education 07`."""

    def text(self, number: int) -> str:
        return f"{self.name} {number:02d}"


CENSUS = (
    Attribute("sex", 2, 1, 0.3, ()),
    Attribute("age", 74, 2, 0.7, (5, 10, 20), numeric=True),
    Attribute("race", 5, 7, 0.3, ()),
    Attribute("marital", 7, 3, 0.8, (3,)),
    Attribute("education", 16, 3, 0.7, (4, 8)),
    Attribute("country", 41, 20, 0.2, (10,)),
    Attribute("workclass", 7, 5, 0.4, (3,)),
    Attribute("occupation", 14, 2, 0.7, (5,)),
    Attribute("salary", 2, 2, 0.8, ()),
    Attribute("region", 9, 2, 0.5, (3,)),
    Attribute("household", 8, 3, 0.7, (2, 4)),
    Attribute("tenure", 4, 2, 0.7, (2,)),
    Attribute("language", 30, 12, 0.3, (5,)),
    Attribute("hours", 60, 2, 0.6, (5, 10, 20, 40), numeric=True),
    Attribute("vehicles", 5, 3, 0.6, (2,)),
)
"""The first nine make a lattice of 12,960 nodes, the first twelve one of 466,560."""


def generate(
    engine: Engine, table: Table, rows: int, attributes: tuple[Attribute, ...], *, distinct: int | None = None
) -> None:
    """Make `table` with `rows` rows. With `distinct`, rows repeat the first so many: same combinations, more rows."""
    number: exp.Expression = column("i")
    if distinct is not None:
        number = exp.Mod(this=number, expression=literal(distinct))
    numbers = exp.select(named(cast(number, "bigint"), "i")).from_(subquery(_series(rows, engine.dialect), "series"))
    streams = [named(_stream(0), "z")] + [named(_stream(j + 1), f"u_{j}") for j in range(len(attributes))]
    drawn = exp.select(column("i"), *streams).from_(subquery(numbers, "numbers"))
    items = [named(_value(j, attribute), attribute.name) for j, attribute in enumerate(attributes)]
    sensitive = named(_bucket(exp.Mul(this=column("z"), expression=column("u_0")), 20), "disease")
    query = exp.select(*items, sensitive).from_(subquery(drawn, "drawn"))
    engine.execute(Statement("generate", create_table_as(table, query, engine.traits, scratch=False)))


def hierarchies(attributes: tuple[Attribute, ...]) -> dict[str, dict[str, object]]:
    """The `columns` part of a spec for a generated table."""
    columns: dict[str, dict[str, object]] = {"disease": {"role": "insensitive"}}
    for attribute in attributes:
        hierarchy: object = "suppression"
        if attribute.numeric:
            hierarchy = {"interval": {"widths": list(attribute.widths)}}
        elif attribute.widths:
            hierarchy = {"tree": _tree(attribute)}
        columns[attribute.name] = {"role": "quasi_identifier", "hierarchy": hierarchy}
    return columns


def _tree(attribute: Attribute) -> dict[str, object]:
    """Groups of neighbouring values, nested by the widths."""
    below: list[tuple[int, object]] = [(number, attribute.text(number)) for number in range(attribute.values)]
    for level, width in enumerate(attribute.widths, start=1):
        groups: dict[int, list[tuple[int, object]]] = {}
        for number, member in below:
            groups.setdefault(number // width * width, []).append((number, member))
        below = [
            (first, {f"{attribute.name} {level}/{first:02d}": _members(members)}) for first, members in groups.items()
        ]
    merged: dict[str, object] = {}
    for _, member in below:
        if isinstance(member, dict):
            merged.update(member)
    return merged


def _members(members: list[tuple[int, object]]) -> object:
    if all(isinstance(member, str) for _, member in members):
        return [member for _, member in members]
    merged: dict[str, object] = {}
    for _, member in members:
        if isinstance(member, dict):
            merged.update(member)
    return merged


def _series(rows: int, dialect: str) -> exp.Select:
    alias = exp.TableAlias(this=identifier("series"), columns=[identifier("i")])
    series = exp.func("generate_series", literal(0), literal(rows - 1))
    if dialect == "spark":
        series = exp.func("range", literal(rows))
    return exp.select(column("i")).from_(exp.Table(this=series, alias=alias))


def _stream(seed: int) -> exp.Expression:
    """A number in [0, 1) for row `i`: an affine step, a square, another affine step, all modulo a prime."""
    first = _modular(column("i"), 1_103_515_245 + 7919 * seed, 12_345 + 104_729 * seed)
    squared = exp.Mod(this=exp.Paren(this=exp.Mul(this=first, expression=first.copy())), expression=literal(PRIME))
    last = _modular(exp.Paren(this=squared), 48_271 + 3571 * seed, 69_621 + seed)
    return exp.Div(this=cast(last, "double"), expression=cast(literal(PRIME), "double"))


def _modular(value: exp.Expression, factor: int, offset: int) -> exp.Expression:
    product = exp.Mul(
        this=exp.Paren(this=exp.Mod(this=value, expression=literal(PRIME))), expression=literal(factor % PRIME)
    )
    return exp.Paren(
        this=exp.Mod(this=exp.Paren(this=exp.Add(this=product, expression=literal(offset))), expression=literal(PRIME))
    )


def _value(position: int, attribute: Attribute) -> exp.Expression:
    own, shared = column(f"u_{position}"), column("z")
    weight = attribute.correlation
    mixed: exp.Expression = exp.Add(
        this=exp.Mul(this=own, expression=_double(1 - weight)),
        expression=exp.Mul(this=shared, expression=_double(weight)),
    )
    powered: exp.Expression = exp.Paren(this=mixed)
    for _ in range(attribute.skew - 1):
        powered = exp.Mul(this=powered, expression=exp.Paren(this=mixed.copy()))
    number = _bucket(powered, attribute.values)
    if attribute.numeric:
        return number
    digits = exp.Pad(this=cast(number, "text"), expression=literal(2), fill_pattern=literal("0"), is_left=True)
    return concat(f"{attribute.name} ", digits)


def _bucket(fraction: exp.Expression, values: int) -> exp.Expression:
    return cast(exp.Floor(this=exp.Mul(this=exp.Paren(this=fraction), expression=_double(values))), "int")


def _double(number: float) -> exp.Expression:
    return cast(exp.Literal.number(repr(number)), "double")
