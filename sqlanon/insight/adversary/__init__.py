"""The attacks that an adversary would run, on a source and on its release: counts, never names unless asked.

Each attack is one statement, which its result shows. Leaves nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from sqlanon.insight.adversary.algorithm import downcode, hierarchies_of, label_levels, levels_of, unmeasured
from sqlanon.insight.adversary.credibility import credibility, not_minimal
from sqlanon.insight.adversary.links import (
    Labels,
    People,
    count_nodes,
    grouped_table,
    intersect,
    label_pairs,
    link,
    people_as_released,
    re_identified,
    recognize_suppressed,
)
from sqlanon.insight.adversary.minimality import minimality, unjudged
from sqlanon.insight.adversary.values import (
    Attack,
    AttackResult,
    CountedValues,
    Exposure,
    background,
    homogeneity,
    infer,
    similarity_by_range,
    similarity_by_taxonomy,
    skewness,
)

__all__ = [
    "Attack",
    "AttackResult",
    "CountedValues",
    "Exposure",
    "Labels",
    "People",
    "background",
    "count_nodes",
    "credibility",
    "downcode",
    "grouped_table",
    "hierarchies_of",
    "homogeneity",
    "infer",
    "intersect",
    "label_levels",
    "label_pairs",
    "levels_of",
    "link",
    "minimality",
    "not_minimal",
    "people_as_released",
    "re_identified",
    "recognize_suppressed",
    "similarity_by_range",
    "similarity_by_taxonomy",
    "skewness",
    "unjudged",
    "unmeasured",
]
