"""From an entry of the spec to what is counted, tested and said of it: one rule for each model.

Adds to a column's statement; sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

from sqlglot import exp as sql

from sqlanon.auditor.figures import ModelQuestion, Number, rounded
from sqlanon.auditor.statements import models
from sqlanon.auditor.statements.classes import greatest
from sqlanon.auditor.statements.columns import ColumnStatement, lacks_no_value
from sqlanon.spec.models import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    LDiversity,
    PSensitive,
    SensitiveModel,
    TCloseness,
)
from sqlanon.sql.build import all_of, total_where
from sqlanon.sql.relations import column, literal

Found = Mapping[str, Any]
"""The answer of a column's statement, by the names of its figures."""
Measure = Callable[[Found], Number | None]


@dataclass(frozen=True)
class AskedModel:
    """A requirement that a statement tests, or the reason why it does not."""

    name: str
    question: ModelQuestion
    measured: Measure
    reason: str = ""


def ask(
    entry: SensitiveModel, name: str, flag: int, statement: ColumnStatement, reasons: Mapping[str, str]
) -> AskedModel:
    """Let a statement test an entry under a name. `flag` numbers the values that entries name, `reasons` say by kind of
    distance why it cannot be measured.
    """
    match entry:
        case LDiversity():
            return _diversity(entry, name, statement)
        case PSensitive():
            statement.test(name, models.holds_values(entry.p))
            question = ModelQuestion("p_sensitive", f"p = {entry.p}", *_too_few(entry.p), entry.column)
            return AskedModel(name, question, least_values)
        case Alpha():
            return _alpha(entry, name, flag, statement)
        case TCloseness():
            return _closeness(entry, name, statement, reasons.get(entry.distance, ""))
        case BetaLikeness():
            return _likeness(entry, name, statement)
        case DeltaDisclosure():
            return _disclosure(entry, name, statement)
        case _:
            raise TypeError(f"the auditor has no rule for {type(entry).__name__}")


def least_values(found: Found) -> int:
    """The least number of values of a class."""
    return int(found["distinct"])


def effective_values(found: Found) -> float:
    """exp of the least entropy."""
    return rounded(exp(max(0.0, float(found["entropy"])))) or 0.0


def greatest_gain(found: Found) -> float:
    """The greatest (p - q) / q."""
    if int(found["outside"]) or found["ratio_greatest"] is None:
        return inf
    # A gain is as exact as the quotient that it is taken from.
    return rounded(round(float(found["ratio_greatest"]) - 1, 13)) or 0.0


def greatest_logarithm(found: Found) -> float:
    """The greatest |ln(p/q)|."""
    if int(found["outside"]) or found["ratio_greatest"] is None:
        return inf
    return rounded(round(max(log(found["ratio_greatest"]), -log(found["ratio_least"])), 13)) or 0.0


def _too_few(number: int) -> tuple[str, str]:
    values = "value" if number == 1 else "values"
    return f"have fewer than {number} {values}", "the least is {}"


def _diversity(entry: LDiversity, name: str, statement: ColumnStatement) -> AskedModel:
    if entry.kind == "distinct":
        statement.test(name, models.holds_values(entry.l))
        question = ModelQuestion("l_diversity", f"l = {entry.l}", *_too_few(entry.l), entry.column, entry.kind)
        return AskedModel(name, question, least_values)
    if entry.kind == "entropy":
        statement.test(name, models.has_entropy(entry.l))
        words = (f"l = {entry.l} (entropy)", f"have an entropy below ln {entry.l}", "the least is ln {}")
        return AskedModel(name, ModelQuestion("l_diversity", *words, entry.column, entry.kind), effective_values)
    return _recursive(entry, name, statement)


def _recursive(entry: LDiversity, name: str, statement: ColumnStatement) -> AskedModel:
    if entry.c is None:
        raise ValueError("recursive l-diversity has a constant")
    tail = f"tail_{entry.l}"
    statement.ranked = True
    statement.aggregates[tail] = models.tail(entry.l)
    statement.figures[f"recursive_{entry.l}"] = sql.Max(
        this=sql.Case().when(models.positive(tail), models.share("most", tail))
    )
    statement.figures[f"without_{tail}"] = total_where(sql.Not(this=models.positive(tail)), literal(1))
    statement.test(name, models.is_recursive(tail, entry.c))
    question = ModelQuestion(
        "l_diversity",
        f"l = {entry.l}, c = {entry.c:f} (recursive)",
        f"have a most frequent value of at least {entry.c:f} times those from rank {entry.l} on",
        "the greatest is {} times",
        entry.column,
        entry.kind,
    )

    def measured(found: Found) -> Number | None:
        return None if found[f"without_{tail}"] else rounded(found[f"recursive_{entry.l}"])

    return AskedModel(name, question, measured)


def recursive_key(entry: LDiversity) -> str:
    """How the figures name a recursive entry."""
    return f"{entry.l},{entry.c:f}"


def _alpha(entry: Alpha, name: str, flag: int, statement: ColumnStatement) -> AskedModel:
    statement.aggregates[f"flagged_{flag}"] = models.flagged(flag, statement.held)
    statement.figures[f"alpha_{flag}"] = sql.Max(this=models.share(f"flagged_{flag}"))
    statement.test(name, models.within_alpha(f"flagged_{flag}", entry.alpha))
    complaint = f"hold the value in a share above {entry.alpha:f}"
    question = ModelQuestion("alpha", f"alpha = {entry.alpha:f}", complaint, "the greatest is {}", entry.column)
    return AskedModel(name, question, lambda found: rounded(found[f"alpha_{flag}"]))


def _closeness(entry: TCloseness, name: str, statement: ColumnStatement, reason: str) -> AskedModel:
    by = "" if entry.distance == "equal" else f" ({entry.distance})"
    complaint = f"lie farther than {entry.t:f} from the whole"
    words = (f"t = {entry.t:f}{by}", complaint, "the greatest distance is {}")
    question = ModelQuestion("t_closeness", *words, entry.column, entry.distance)
    if reason:
        return AskedModel(name, question, lambda found: None, reason)
    work, scale = _work(entry, statement)
    statement.figures[entry.distance] = sql.Max(this=models.distance(work, scale))
    statement.test(name, models.within_distance(work, entry.t, scale))
    return AskedModel(name, question, lambda found: rounded(found[entry.distance]))


def _work(entry: TCloseness, statement: ColumnStatement) -> tuple[str, sql.Expression]:
    """The aggregate that a distance is made of, and what it is divided by beside size and total."""
    if entry.distance == "ordered":
        steps = sql.Sub(this=sql.Max(this=column("places")), expression=literal(1))
        statement.aggregates["stretches"] = sql.Sum(this=column("stretch"))
        statement.aggregates["steps"] = greatest(steps, literal(1))
        return "stretches", column("steps")
    if entry.distance == "hierarchical" and statement.values.taxonomy is not None:
        height = statement.values.taxonomy.height
        statement.aggregates["nodes"] = sql.Sum(this=models.node_excess(statement.domain.kind, height))
        return "nodes", literal(height)
    return "excess", literal(1)


def _likeness(entry: BetaLikeness, name: str, statement: ColumnStatement) -> AskedModel:
    held, reference = statement.held, statement.reference
    counts = {f"beyond_{name}": models.beyond_beta(held, reference, entry.beta)}
    if entry.kind == "enhanced":
        counts["beyond_logarithm"] = models.beyond_logarithm(held, reference)
    statement.aggregates |= counts
    statement.test(name, models.none_of(*counts, "outside"))
    also = "" if entry.kind == "basic" else " or -ln of its share of the whole"
    by = "" if entry.kind == "basic" else " (enhanced)"
    complaint = f"hold a value with a gain above {entry.beta:f}{also}"
    words = (f"beta = {entry.beta:f}{by}", complaint, "the greatest is {}")
    return AskedModel(name, ModelQuestion("beta_likeness", *words, entry.column, entry.kind), greatest_gain)


def _disclosure(entry: DeltaDisclosure, name: str, statement: ColumnStatement) -> AskedModel:
    passes = models.within_delta(entry.delta)
    complaint = f"hold a value whose share is off by more than e^{entry.delta:f}"
    by = ""
    if entry.kind == "all":
        statement.aggregates["shared"] = models.shared_values(statement.held, statement.reference)
        statement.aggregates["reference_values"] = sql.Max(this=column("reference_values"))
        statement.figures["lacking"] = total_where(sql.Not(this=lacks_no_value()), literal(1))
        passes = all_of([passes, lacks_no_value()])
        complaint += ", or lack a value"
        by = " (all values)"
    statement.test(name, passes)
    words = (f"delta = {entry.delta:f}{by}", complaint, "the greatest is {}")
    return AskedModel(name, ModelQuestion("delta_disclosure", *words, entry.column, entry.kind), greatest_logarithm)
