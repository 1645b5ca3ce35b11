"""The part of a script that recodes the source by regions: lookup tables written out, the source by their labels.

What follows takes the recoded rows for the source, and publishes them as they are.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.binding import Binding, BoundColumn
from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import TOP, Family, Formula
from sqlanon.recoding.lookups import RegionLookup
from sqlanon.script.pages import Pages
from sqlanon.sqlgen import region_lookups as lookups_sql
from sqlanon.sqlgen.region_lookups import Placed
from sqlanon.sqlgen.relations import Table


def write_regions(pages: Pages, engine: Engine, binding: Binding, lookup: RegionLookup) -> Binding:
    """Write the lookup tables and the recoded source; the binding of that table, its columns released at level 0."""
    columns = []
    for position, item in enumerate(binding.quasi_identifiers):
        rows = [(value, str(place)) for place, value in enumerate(lookup.values[position])]
        sentence = f"The values of {item.name} in their order."
        table = pages.create_text(sentence, f"values_{position}", ["value", "place"], rows)
        columns.append(Placed(item.name, item.key("source", engine.traits), _text(engine, item), table))
    names = [f"{part}_{position}" for position in range(len(columns)) for part in ("lo", "hi", "label")]
    regions = pages.create_text(
        "Regions: of each column the first place, the last and the label.", "regions", names, lookup.regions
    )
    source = engine.traits.relation(binding.source, "source")
    others = [info.name for info in binding.columns if info.name not in binding.names]
    query = lookups_sql.recoded(source, columns, regions, [info.name for info in binding.columns], others)
    recoded = pages.create("The source with the labels of its regions.", "recoded", query)
    pages.stop_unless(
        "Every row lies in one region.",
        lookups_sql.as_many_rows(engine.traits.relation(binding.source, "source"), recoded),
        "rows lie outside the regions, or in several: plan again",
    )
    return _recoded(binding, recoded)


def _text(engine: Engine, item: BoundColumn) -> exp.Expression:
    return engine.traits.text(item.key("source", engine.traits), item.family)


def _recoded(binding: Binding, table: Table) -> Binding:
    names = set(binding.names)
    text = exp.DataType.build("text")
    return replace(
        binding,
        source=table,
        columns=tuple(
            replace(info, type=text, family=Family.TEXT) if info.name in names else info for info in binding.columns
        ),
        quasi_identifiers=tuple(
            BoundColumn(item.name, Family.TEXT, Formula((), TOP)) for item in binding.quasi_identifiers
        ),
    )
