"""Cuts are carried out as full-domain generalization: their groups are level 1 of hierarchies of their own.

Pure; reads and returns bindings.
"""

from __future__ import annotations

from dataclasses import replace

from sqlanon.recoding.cuts import Cuts
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.source.binding import Binding


def by_own_hierarchies(cuts: Cuts, binding: Binding) -> tuple[Binding, FullDomain]:
    """The binding with the groups as hierarchies, and the levels at which they are released."""
    rules = cuts.rules()
    columns = tuple(replace(item, rule=rules[item.name]) for item in binding.quasi_identifiers)
    return replace(binding, quasi_identifiers=columns), FullDomain.from_levels(binding.names, cuts.own_levels())
