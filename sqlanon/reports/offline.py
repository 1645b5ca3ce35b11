"""The report without a database: what the spec, the lock file and the evidence folder tell.

Reads files; measures nothing. `reports.gather` shares the parts that need no database: which release it is, its
columns, the runs on record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlanon import __version__
from sqlanon.evaluation.requirements import requirement_from
from sqlanon.hierarchies import described
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures
from sqlanon.planning.operations import in_folder
from sqlanon.release.evidence.document import place_name, published
from sqlanon.release.lock import Lock
from sqlanon.reports.lattice_view import LatticeFrame, LatticeView, Shown, lattice_view, level_names
from sqlanon.reports.model import ColumnView, Grid, Identity, LevelLine, Report, RequirementLine
from sqlanon.reports.values import Branch
from sqlanon.reports.words import decision
from sqlanon.spec import Spec
from sqlanon.spec.columns import accepted_columns, derived_columns, rules_of

RUNS = 10
"""Runs of the evidence that a report lists."""


def rare_below(spec: Spec, k: int) -> int:
    """Values with fewer rows than this are rare: k, or what else is asked of the number of rows and values."""
    return max(2, k, *(entry.least_rows for entry in spec.privacy.models()))


def identity_of(spec: Spec, lock: Lock, engine: str) -> Identity:
    """Which release a report is about."""
    return Identity(
        source=place_name(spec.source),
        target=place_name(spec.target),
        spec=lock.spec,
        spec_hash=lock.spec_hash,
        recipient=lock.recipient,
        k=_largest_k(spec, lock),
        limit=str(spec.privacy.most_suppressed),
        respondent=spec.respondent,
        sensitive=tuple(spec.sensitive),
        columns=tuple(spec.quasi_identifiers),
        algorithm=str(lock.result.get("algorithm", "")),
        engine=engine,
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _largest_k(spec: Spec, lock: Lock) -> int:
    """What is asked of the size of classes; with a profile the lock file says what the source's rows made of it."""
    if not spec.profiled:
        return max(k or 1 for _, k in spec.privacy.groups(()).values())
    asked = [part.get("k", {}) for part in lock.requirement.values() if isinstance(part, dict)]
    return max(int(entry.get("k", 1)) for entry in asked)


def accepted_notes(spec: Spec) -> tuple[str, ...]:
    """A line for each column that is made by a rule, or released although it looks like an identifier."""
    accepted = tuple(
        f"Column {name} looks like an identifier and is released, accepted by the spec: {reason}"
        for name, reason in accepted_columns(spec.columns).items()
    )
    return (*(f"Column {name} is made by a rule: {words}" for name, words in rules_of(spec.columns).items()), *accepted)


def evidence_lines(spec: Spec, lock: Lock) -> tuple[Mapping[str, Any], ...]:
    """The runs on record that published this release, newest first."""
    kept = [item.document for item in in_folder(spec.evidence_folder) if published(item.document)]
    own = [item for item in kept if item["recipient"] == lock.recipient and item["target"] == place_name(spec.target)]
    return tuple(
        {
            "run": item["run"],
            "finished": item["finished"],
            "command": item["command"],
            "released": item["rows"]["released"],
            "k": item["audit"]["after"]["k"],
            "vector": item["vector"],
            "satisfied": item["audit"]["after"]["satisfied"],
        }
        for item in own[:RUNS]
    )


def column_view(spec: Spec, lock: Lock, name: str, tree: Branch | None = None) -> ColumnView:
    """A column with what each of its levels does."""
    known = lock.hierarchies[name]
    height = int(known["height"])
    lines = [
        LevelLine(level, described(spec.hierarchy(name), level, height, str(known["top"])))
        for level in range(height + 1)
    ]
    return ColumnView(name, lock.levels.get(name), height, tuple(lines), tree)


def costed(view: ColumnView, levels: Sequence[LevelFigures], rows: int, leaves: int) -> ColumnView:
    """The column with what each of its levels costs."""
    least, top = rows / leaves, levels[-1]
    lines = []
    for line in view.levels:
        here = levels[line.level]
        loss = (here.share - least) / (rows - least) if rows > least else 0.0
        entropy = here.entropy / top.entropy if top.entropy else 0.0
        lines.append(replace(line, labels=here.values, loss=max(0.0, loss), entropy=entropy))
    return replace(view, levels=tuple(lines))


def recoding_grid(lock: Lock) -> Grid | None:
    """The figures of a recoding that has no lattice; None of a full-domain one."""
    if lock.flexible is None:
        return None
    described = lock.flexible.to_dict()
    rows = [("kind", str(described["kind"])), ("algorithm", str(lock.result.get("algorithm")))]
    rows += [(str(name), f"{score:.6g}") for name, score in lock.result.get("score", {}).items()]
    rows += [(f"groups of {name}", f"{len(groups):,}") for name, groups in described.get("groups", {}).items()]
    rows += [(str(name), str(value)) for name, value in described.get("details", {}).items()]
    if lock.result.get("gap") is not None:
        rows.append(("at most better by", f"{100 * float(lock.result['gap']):.2f}%"))
    text = "This recoding gives no column one level for all its values, so there is no lattice to draw."
    return Grid("Recoding", "What was decided", text, ("figure", "value"), tuple(rows))


def with_columns(sentences: Mapping[str, str], leaving: Grid) -> dict[str, str]:
    """The decision with the number of columns that leave."""
    return {**sentences, "released": f"{sentences['released']} {leaving.text}"}


LEFT_OUT = "left out"
AS_IT_IS = "as it is"
BY_RULE = "by a rule: "
RELEASED = "Every column"


def released_grid(spec: Spec, lock: Lock) -> Grid:
    """How each column of the source is released, by the spec and the lock file."""
    bases = [name for name in dict.fromkeys(derived_columns(spec.columns).values()) if name not in spec.columns]
    known = [name for name in lock.source if name not in spec.columns and name not in bases]
    rows = [_released_row(spec, lock, name) for name in (*spec.columns, *known)]
    rows += [(name, "what others are derived from", LEFT_OUT, "-") for name in bases]
    text = _released_counts(rows)
    if spec.default_role == "identifier":
        text += " Columns of the source that are not listed here are left out."
    return Grid("Released", RELEASED, text, ("column", "role", "released as", "level"), tuple(rows))


def _released_row(spec: Spec, lock: Lock, name: str) -> tuple[str, str, str, str]:
    listed = spec.columns.get(name)
    role = (spec.default_role if listed is None else listed.role) or "insensitive"
    words = role.replace("_", "-")
    if listed is not None and listed.derive is not None:
        words += f", from {listed.derive.base}"
    if listed is not None and listed.words() and role != "quasi_identifier":
        return name, words, LEFT_OUT if listed.dropped else f"{BY_RULE}{listed.words()}", "-"
    if role == "identifier":
        return name, words, LEFT_OUT, "-"
    if role == "quasi_identifier":
        level, view = lock.levels.get(name), column_view(spec, lock, name)
        if level is None:
            return name, words, "the label of its class", "-"
        chosen = view.chosen
        return name, words, AS_IT_IS if chosen is None else chosen.released_as, f"{level} of {view.height}"
    personalized = spec.privacy.personalized
    if personalized is not None and personalized.column == name:
        return name, words, "the value, or a node of its tree above it", "-"
    return name, words, AS_IT_IS, "-"


def _released_counts(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """How many columns are released in which way, in one sentence.

    >>> _released_counts([("zip", "quasi-identifier", "by 3", "1 of 2"), ("ssn", "identifier", "left out", "-")])
    'Of 2 columns, 1 is generalized, none is released as it is, and 1 is left out.'
    """
    ruled = sum(shown.startswith(BY_RULE) for _, _, shown, _ in rows)
    kept = sum(shown == AS_IT_IS for _, _, shown, _ in rows)
    out = sum(shown == LEFT_OUT for _, _, shown, _ in rows)
    wide = len(rows) - kept - out - ruled
    are = {number: f"{number or 'none'} {'are' if number > 1 else 'is'}" for number in (wide, kept, out, ruled)}
    as_is = "as they are" if kept > 1 else "as it is"
    by_rule = f"{are[ruled]} released by a rule, " if ruled else ""
    return (
        f"Of {len(rows)} columns, {are[wide]} generalized, {are[kept]} released {as_is}, {by_rule}"
        f"and {are[out]} left out."
    )


def gather_offline(spec: Spec, lock: Lock) -> Report:
    """What the files tell of what a lock file decided."""
    lock.recoding_for(spec)
    columns = tuple(column_view(spec, lock, name) for name in spec.quasi_identifiers)
    identity = identity_of(spec, lock, "no database")
    lines = tuple(
        RequirementLine(name, _words(asked), "", "", None, None, None) for name, asked in lock.requirement.items()
    )
    leaving = released_grid(spec, lock)
    grid = recoding_grid(lock)
    return Report(
        identity=identity,
        figures=lock.result,
        decision=with_columns(decision(identity, lock.result, columns, lines, None, None, None), leaving),
        satisfied=None,
        published=None,
        requirements=lines,
        rare_below=rare_below(spec, identity.k),
        columns=columns,
        lattice=_view(spec, lock) if lock.flexible is None else None,
        evidence=evidence_lines(spec, lock),
        more=(leaving, *(() if grid is None else (grid,))),
        notes=(
            *accepted_notes(spec),
            "Made from the lock file and the evidence alone: nothing was measured for this report.",
        ),
    )


def _view(spec: Spec, lock: Lock) -> LatticeView:
    names = spec.quasi_identifiers
    heights = tuple(int(lock.hierarchies[name]["height"]) for name in names)
    limit = int(lock.result["limit"])
    frame = LatticeFrame(
        names,
        heights,
        _lattice(spec, heights),
        limit=limit,
        rows=int(lock.result["rows"]),
        metric=spec.search.metric,
        monotone=requirement_from(spec).monotone(limit),
        levels=level_names(
            spec, {name: (int(lock.hierarchies[name]["height"]), str(lock.hierarchies[name]["top"])) for name in names}
        ),
    )
    return lattice_view(
        frame,
        [Shown(verdict) for verdict in lock.verdicts],
        chosen=tuple(lock.levels[name] for name in names),
        minimal=[tuple(node) for node in lock.result["minimal"]],
    )


def _lattice(spec: Spec, heights: Node) -> Lattice:
    bounds = [spec.columns[name].levels for name in spec.quasi_identifiers]
    bottom = tuple(bound.min for bound in bounds)
    return Lattice(bottom, tuple(h if b.max is None else b.max for b, h in zip(bounds, heights, strict=True)))


def _words(asked: object) -> str:
    if isinstance(asked, Mapping):
        return ", ".join(f"{name} {value}" for name, value in asked.items())
    return "; ".join(map(_words, asked)) if isinstance(asked, list) else str(asked)
