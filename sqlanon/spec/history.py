"""What a spec with a ledger needs, and what a ledger cannot be kept of: each is refused by its name.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.hierarchies.definition import Finding
from sqlanon.spec.keys import KeptHistory, SpecKeys
from sqlanon.spec.places import TableSource, TableTarget


def history_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with the history of a spec."""
    kept = spec.ledger
    if kept is None:
        return
    yield from _key(spec, kept)
    yield from _places(spec, kept)
    yield from _requirement(spec)


def _key(spec: SpecKeys, kept: KeptHistory) -> Iterator[Finding]:
    listed = spec.columns.get(kept.key)
    if (spec.default_role if listed is None else listed.role) != "identifier":
        message = f"{kept.key} must be a column of role identifier: the key of a person is never released"
        yield ("history", "key"), message
    if spec.respondent not in (None, kept.key):
        yield ("respondent",), f"history.key says that {kept.key} names the person; write the same column"


def _places(spec: SpecKeys, kept: KeptHistory) -> Iterator[Finding]:
    population = spec.privacy.population
    places = {"target": spec.own_target, "source": spec.source, "population": population and population.source}
    for what, place in places.items():
        if isinstance(place, TableTarget | TableSource) and place.parts == kept.ledger:
            yield ("history", "ledger"), f"that is the {what}; name another table"
    if spec.regions == kept.ledger:
        yield ("history", "ledger"), "that is the table of regions; name another table"
    if not spec.recipients and spec.own_target is not None and not isinstance(spec.own_target, TableTarget):
        yield ("target",), "with a ledger it is a table: only a table can be replaced together with its ledger"


def _requirement(spec: SpecKeys) -> Iterator[Finding]:
    """A ledger asks the requirement of groups of people within a class: it must be one that groups can have."""
    privacy = spec.privacy
    if privacy.suppression.mode == "blank":
        yield ("privacy", "suppression", "mode"), "with a ledger write drop: a blanked row is in no class"
    unfit = {
        "quasi_identifiers": bool(privacy.quasi_identifiers),
        "other_sensitive": privacy.other_sensitive == "known",
        "anonymity": privacy.anonymity != "classic",
        "population": privacy.population is not None,
        "personalized": privacy.personalized is not None,
        "profile": bool(privacy.profile),
        # The values of people who are gone are remembered nowhere: what is asked of shares could not be told of them.
        "alpha": bool(privacy.alpha),
        "t_closeness": bool(privacy.t_closeness),
        "beta_likeness": bool(privacy.beta_likeness),
        "delta_disclosure": bool(privacy.delta_disclosure),
    }
    for key, stands in unfit.items():
        if stands:
            yield ("privacy", key), "a ledger cannot be kept with it; remove it, or remove history"
