"""What a script says at its head: what it releases, at which levels, under which requirement, and how to run it.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.engines.scripting import Scripting
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.source.binding import Binding
from sqlanon.spec import Limit, Privacy
from sqlanon.spec.models import Alpha, BetaLikeness, DeltaDisclosure, LDiversity, PSensitive, SensitiveModel, TCloseness
from sqlanon.sql.relations import File


def heading(binding: Binding, recoding: FullDomain, scripting: Scripting) -> Iterator[str]:
    """The lines at the head of a script."""
    yield f"Release of {binding.source} as {binding.target}, made by sqlanon for {scripting.name}."
    levels = ", ".join(f"{name} at level {level}" for name, level in recoding.levels().items())
    yield f"Generalization: {'class by class' if binding.personalized is not None else levels}."
    yield from _requirement(binding)
    most = rows_within(binding.spec.privacy.suppression.limit)
    suppressed = "blanked" if binding.blank else "left out"
    yield f"At most {most} are {suppressed}. Where this does not hold, the script stops and publishes nothing."
    yield from _running(binding, scripting)


def rows_within(limit: Limit) -> str:
    """A limit in words.

    >>> from decimal import Decimal
    >>> rows_within(Limit(count=8)), rows_within(Limit(percent=Decimal(2)))
    ('8 rows', '2% of the rows')
    """
    return f"{limit} rows" if limit.percent is None else f"{limit} of the rows"


def _requirement(binding: Binding) -> Iterator[str]:
    privacy = binding.spec.privacy
    unit = "persons" if binding.persons else "rows"
    for name, (columns, k) in privacy.groups(binding.names).items():
        quasi_identifier = f"the quasi-identifier {name} ({', '.join(columns)})" if name else "the quasi-identifier"
        demands = [] if k is None else [f"has at least {k} {unit}"]
        for demand in (*demands, *_population(privacy)):
            yield f"Every class of {quasi_identifier} {demand}."
    known = ", the other sensitive values being known" if privacy.other_sensitive == "known" else ""
    for entry in privacy.models():
        yield f"{_model(entry)}{known}."
    if privacy.personalized is not None:
        asked = privacy.personalized
        yield f"Nobody's guarding node of {asked.column} is inferred with a probability above {asked.p_breach}."
    if binding.persons:
        yield f"Persons are told apart by {binding.spec.respondent}, which is not released."


def _population(privacy: Privacy) -> Iterator[str]:
    if privacy.k_map is not None:
        yield f"matches at least {privacy.k_map} rows of the population"
    if privacy.delta_presence is not None:
        bounds = privacy.delta_presence
        yield f"is a share from {bounds.min:f} to {bounds.max:f} of the rows of the population that it matches"


def _model(entry: SensitiveModel) -> str:
    match entry:
        case LDiversity():
            constant = "" if entry.c is None else f", c = {entry.c:f}"
            return f"Every class is l-diverse in {entry.column} ({entry.kind}, l = {entry.l}{constant})"
        case PSensitive():
            return f"Every class is p-sensitive in {entry.column} (p = {entry.p})"
        case Alpha():
            return f"No class has the value of {entry.column} that the spec names in a share above {entry.alpha:f}"
        case TCloseness():
            return f"Every class is t-close to the whole source in {entry.column} ({entry.distance}, t = {entry.t:f})"
        case BetaLikeness():
            return f"Every class is beta-like the whole source in {entry.column} ({entry.kind}, beta = {entry.beta:f})"
        case DeltaDisclosure():
            return f"Every class is delta-disclosure private in {entry.column} ({entry.kind}, delta = {entry.delta:f})"


def _running(binding: Binding, scripting: Scripting) -> Iterator[str]:
    yield f"Run everything in its order, in one session that stops at the first error: {scripting.client}"
    if not scripting.transactional:
        yield "Without a transaction: after a stop the target is as it was, and the last file drops what is left over."
    if not (scripting.keeps_grants or binding.as_view or isinstance(binding.target, File)):
        others = " `sqlanon apply` keeps them." if scripting.executed else ""
        yield f"Grants, comments and indexes of an existing target are not kept by this script.{others}"
    if not scripting.executed:
        yield "This dialect is generated and parsed back by sqlanon's tests, not executed by them: review it with care."
