"""The warehouse's own guard beside a release: comments with roles and levels, grants, rules for the source.

Writes statements for somebody who may alter and grant; runs none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlanon.engines.generated_dialects import scripting_for
from sqlanon.engines.guards import GuardedRelease, guards
from sqlanon.engines.scripting import Scripting
from sqlanon.errors import UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.recoding import Recoding
from sqlanon.release.script.pages import commented
from sqlanon.source.binding import Binding, bind
from sqlanon.source.run import DEFAULT, Options, open_for
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table

ROLES = {
    "quasi_identifier": "quasi-identifier",
    "sensitive": "sensitive",
    "insensitive": "not sensitive",
    "identifier": "pseudonym",
}
"""What a released column is, by its role: of identifiers only pseudonyms are released."""


def policies(
    spec: Spec,
    recoding: Recoding,
    heights: Mapping[str, int],
    scripting: Scripting | None,
    readers: str,
    options: Options = DEFAULT,
) -> str:
    """The statements of a dialect, None: of the spec's own database; with the sentences that explain them."""
    with open_for(spec, options) as engine:
        binding = bind(spec, engine)
        chosen = scripting_for(engine) if scripting is None else scripting
        asked = _guarded(binding, recoding, heights, readers)
    lines = [commented(f"Beside the release {binding.target}, for {chosen.name}: run by whoever may grant and alter.")]
    for guard in guards(asked, chosen.traits):
        lines += ["", commented(guard.sentence), *guard.statements]
    return "\n".join(lines) + "\n"


def _guarded(binding: Binding, recoding: Recoding, heights: Mapping[str, int], readers: str) -> GuardedRelease:
    if not isinstance(binding.target, Table):
        raise UsageError("target: --policies are about a table or view; this release is a file")
    columns = [info.name for info in binding.columns] if binding.rules is None else list(binding.rules.columns)
    return GuardedRelease(
        binding.target,
        binding.as_view,
        _about(binding),
        dict(_columns(binding, recoding, heights)),
        binding.origin if isinstance(binding.origin, Table) else None,
        tuple(name for name in columns if name not in binding.released),
        binding.k,
        None if binding.respondent is None else binding.respondent.name,
        readers,
    )


def _about(binding: Binding) -> str:
    named = ", ".join(sorted(requirement_of(binding).describe()))
    unit = "persons" if binding.persons else "rows"
    groups = "; ".join(
        f"every class of {', '.join(names)} has at least {k or 1} {unit}"
        for names, k in binding.spec.privacy.groups(binding.names).values()
    )
    return f"Released by sqlanon: {groups}. Required: {named}."


def _columns(binding: Binding, recoding: Recoding, heights: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    levels = recoding.levels()
    for name in binding.released:
        declared = binding.spec.columns.get(name)
        told = ROLES["insensitive" if declared is None else declared.role]
        if name in levels:
            told += f", level {levels[name]} of {heights[name]}"
        elif name in binding.names:
            told += f", generalized by {recoding.kind}"
        yield name, told
