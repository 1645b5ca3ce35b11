"""Measuring the classes of a table against the population that it comes from.

Reads counts from the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlanon.auditor.checks import Check, Question
from sqlanon.auditor.figures import PopulationFigures, rounded
from sqlanon.auditor.models import Found
from sqlanon.auditor.opened import Opened
from sqlanon.auditor.statements.population import matched_classes, population_figures, population_query
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError
from sqlanon.spec import Privacy

NOT_MEASURED = "not measured: the population, generalized like the table, is not known here"


def measure_population(
    engine: Engine,
    audited: Opened,
    respondent: str | None,
    population: Opened,
    keys: Sequence[str],
    privacy: Privacy,
    group: str,
) -> tuple[PopulationFigures, tuple[Check, ...]]:
    """Measure the classes of `keys`; the table has rows."""
    population.require(*keys)
    texts = {key: not audited.compares_with(population, key, key) for key in keys}
    matched = matched_classes(
        audited.expression(),
        [audited.key(key, as_text=texts[key]) for key in keys],
        None if respondent is None else audited.key(respondent),
        population.expression(),
        [population.key(key, as_text=texts[key]) for key in keys],
    )
    bounds = privacy.delta_presence
    figures = population_figures(privacy.k_map, None if bounds is None else (bounds.min, bounds.max))
    [row] = engine.query(Statement("audit population", population_query(matched, figures)))
    found = dict(zip(figures, row, strict=True))
    if not found["population_rows"]:
        raise SourceError(f"the population {population.relation} has no rows")
    return _figures(found), tuple(_checks(privacy, found, group))


def unmeasured(privacy: Privacy, classes: int, rows: int, group: str) -> Iterator[Check]:
    """The requirements that need a population, where none is at hand: they do not hold."""
    for _, question in _questions(privacy):
        yield Check(question, group, classes, classes, rows, rows, None, NOT_MEASURED)


def _figures(found: Found) -> PopulationFigures:
    greatest = None if found["unmatched"] else rounded(found["greatest"])
    return PopulationFigures(int(found["fewest"]), rounded(found["least"]) or 0.0, greatest)


def _checks(privacy: Privacy, found: Found, group: str) -> Iterator[Check]:
    figures = _figures(found)
    for name, question in _questions(privacy):
        measured = figures.k_map if name == "k_map" else figures.greatest_presence
        classes = found["classes"] if name == "k_map" else found["all_classes"]
        failing = (int(found[f"classes_failing_{name}"]), int(found["rows"]), int(found[f"rows_failing_{name}"]))
        yield Check(question, group, int(classes), *failing, measured)


def _questions(privacy: Privacy) -> Iterator[tuple[str, Question]]:
    if privacy.k_map is not None:
        complaint = f"match fewer than {privacy.k_map} rows of the population"
        yield "k_map", Question("k_map", f"k = {privacy.k_map}", complaint, "the fewest are {}")
    if privacy.delta_presence is not None:
        least, greatest = privacy.delta_presence.min, privacy.delta_presence.max
        asked = f"from {least:f} to {greatest:f}"
        complaint = f"have a share of the population outside {least:f} to {greatest:f}"
        yield "delta_presence", Question("delta_presence", asked, complaint, "the greatest is {}")
