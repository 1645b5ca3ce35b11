"""The release as commented SQL, for people who review it and run it by hand, with the client of their database.

Six chapters, from hierarchies to the swap, for one dialect. The statements are those that publish runs; definitions are
inserted as literals, and each check is a query that fails. Reads the catalog of the spec's own connection, and what
definitions leave open. Searches nothing and writes nothing to any database: the recoding comes from a plan or a lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from sqlanon.auditor.policy import drafted_columns, labels_outside
from sqlanon.engines.base import Engine
from sqlanon.engines.generated_dialects import SCRIPT_DIALECTS, scripting_for
from sqlanon.engines.scripting import Scripting, neutral
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.privacy.base import Requirement
from sqlanon.recoding import FullDomain, Recoding
from sqlanon.recoding.base import groups_with_slack
from sqlanon.recoding.kinds import RegionLookup
from sqlanon.release.classes import live_release
from sqlanon.release.files import refuse_types
from sqlanon.release.groups import require_groups
from sqlanon.release.lock import Lock
from sqlanon.release.script.counting import write_hierarchies, write_steps, write_verdicts
from sqlanon.release.script.ledger import LedgerPages, needs_of, texts_of
from sqlanon.release.script.pages import Pages, commented, heading
from sqlanon.release.script.publishing import write_judged_view, write_table, write_view
from sqlanon.release.script.regions import write_regions
from sqlanon.release.steps import ReleaseSteps
from sqlanon.source.binding import Binding, bind
from sqlanon.source.doubt import refuse_doubted
from sqlanon.source.hierarchies import describe_hierarchies, fingerprint
from sqlanon.source.run import DEFAULT, Options, open_for, refuse_writes
from sqlanon.spec import Spec
from sqlanon.spec.findings import refuse_secrets
from sqlanon.sql.relations import File, Relation


@dataclass(frozen=True)
class Script:
    """The whole script, by file."""

    files: Mapping[str, str]
    """Text by file name; names sort in the order in which the files are run."""
    dialect: str
    hierarchies: Mapping[str, Mapping[str, object]]
    """Definition, height and top of each hierarchy, as a lock file holds them."""

    @property
    def text(self) -> str:
        """All files, one after another."""
        return "\n".join(self.files.values())


class ScriptWriter:
    """Writes one release, for the dialect of its own engine or for another."""

    def __init__(
        self,
        engine: Engine,
        binding: Binding,
        requirement: Requirement,
        levels: Mapping[str, int],
        dialect: str | None = None,
        lookup: RegionLookup | None = None,
    ) -> None:
        self._scripting = scripting_for(engine) if dialect is None else scripting_named(dialect)
        self._engine = neutral(engine)
        refuse_secrets(binding.spec, "script")
        self._binding = binding.spoken(self._engine.traits)
        self._requirement = requirement
        self._recoding = FullDomain.from_levels(binding.names, levels)
        self._lookup = lookup
        _refuse_files(binding, self._scripting)

    def text(self) -> str:
        """The whole script as one text."""
        return self.script().text

    def script(self) -> Script:
        """The whole script by files."""
        binding, engine = self._binding, self._engine
        pages = Pages(self._scripting, binding.scratch, self._mark())
        ledger = self._ledger(pages)
        pages.open("hierarchies", "a label for every value.")
        if ledger is None:
            self._begin(pages)
        if self._lookup is not None:
            binding = write_regions(pages, engine, binding, self._lookup)
        hierarchies = write_hierarchies(pages, engine, binding, self._recoding)
        release = hierarchies.release(binding, self._recoding, self._requirement)
        taxonomies = hierarchies.taxonomies()
        pages.open("frequency_set", "how often each combination occurs, and what models compare.")
        if binding.as_view:
            live = live_release(engine, release)
            classes = write_judged_view(pages, engine, live)
            pages.open("release", "the release as a staging view, which is audited before it takes its name.")
            write_view(pages, engine, live, classes, taxonomies)
        else:
            repeating = self._scripting.traits
            written = ReleaseSteps(engine, release, pages.name, hierarchies.of_sensitive, repeating=repeating)
            written.count()
            write_steps(pages, written.steps)
            pages.open("release", "classes are judged, the rows of those that pass are staged.")
            verdicts = write_verdicts(pages, engine, release, written)
            self._refuse_types()
            allowed = {} if self._lookup is None else self._lookup.labels(binding.names)
            write_table(pages, engine, release, verdicts, taxonomies, allowed, ledger)
        self._end(pages)
        return Script(self._files(pages), self._scripting.name, describe_hierarchies(hierarchies.of_release))

    def _ledger(self, pages: Pages) -> LedgerPages | None:
        """The ledger, where one is kept, made and checked before anything is read."""
        binding = self._binding
        if binding.history is None:
            return None
        if isinstance(binding.target, File):
            raise UsageError(
                "target: a script cannot write a file and the ledger together; name a table, or use sqlanon run"
            )
        ledger = LedgerPages(pages, binding, texts_of(binding, self._scripting))
        pages.open("ledger", "what is remembered of the releases before, checked.")
        self._begin(pages)
        ledger.wait()
        ledger.make()
        ledger.close()
        ledger.check()
        return ledger

    def _refuse_types(self) -> None:
        """A file whose format cannot carry a column that is released as it is, is refused by the column's name."""
        binding = self._binding
        if isinstance(binding.target, File):
            texts = {name for name, level in self._recoding.levels().items() if level or self._lookup is not None}
            kept = [info for info in binding.columns if info.name in binding.released and info.name not in texts]
            refuse_types(self._scripting.traits, kept, binding.target)

    def _begin(self, pages: Pages) -> None:
        opening = self._scripting.opening(self._binding.spec.limits.asked_seconds)
        if opening:
            where = "One transaction, from here to the end" if self._scripting.transactional else "The session"
            pages.add(f"{where}.", *opening)

    def _end(self, pages: Pages) -> None:
        pages.open("clean_up", "nothing is left of the script but the release.")
        pages.drop_made()
        closing = self._scripting.closing()
        if closing:
            pages.add("The end of the transaction.", *closing)

    def _files(self, pages: Pages) -> dict[str, str]:
        texts = [pages.text(chapter) for chapter in pages.chapters]
        binding = self._binding
        lines = [*heading(binding, self._recoding, self._scripting), *needs_of(binding, self._scripting)]
        texts[0] = "\n".join(map(commented, lines)) + "\n\n" + texts[0]
        return dict(zip(map(pages.file_name, pages.chapters), texts, strict=True))

    def _mark(self) -> str:
        """The same for the same release, another one for any other."""
        content = (str(self._binding.source), str(self._binding.target), self._recoding, self._requirement.describe())
        return sha256(repr(content).encode()).hexdigest()[:8]


def scripting_named(dialect: str) -> Scripting:
    """How scripts are written for a dialect; UsageError when it is not known."""
    if dialect not in SCRIPT_DIALECTS:
        raise UsageError(f"unknown dialect '{dialect}': known are {', '.join(SCRIPT_DIALECTS)}")
    return SCRIPT_DIALECTS[dialect]


def _refuse_files(binding: Binding, scripting: Scripting) -> None:
    """A script reads files only where the database's own statements do."""
    read: dict[str, Relation] = {"source": binding.origin}
    if binding.population is not None:
        read["privacy.population.source"] = binding.population.relation
    for key, relation in read.items():
        if not isinstance(relation, File):
            continue
        unread = f"{relation.format} files" if relation.format not in scripting.source_files else None
        if unread is None and not scripting.traits.reads_unusual:
            unread = relation.unusual
        if unread is not None:
            raise UsageError(f"{key}: a script for {scripting.name} does not read {unread}; load it into a table")
    if isinstance(binding.target, File) and not scripting.target_files:
        raise UsageError(f"target: a script for {scripting.name} writes no files; name a table")


def compiled(
    spec: Spec,
    recoding: Recoding | Mapping[str, int],
    options: Options = DEFAULT,
    *,
    dialect: str | None = None,
    lock: Lock | None = None,
    lookup: RegionLookup | None = None,
) -> Script:
    """The release of a spec as a script, for its own engine or another dialect; levels say a full-domain recoding.

    The regions of a class-wise recoding are given as a lookup. With the lock file that the recoding comes from,
    UsageError when the source's columns or a hierarchy are no longer as they were.
    """
    with open_for(spec, options) as engine:
        bound = bind(spec, engine)
        refuse_writes(engine, bound, options)
        refuse_doubted(engine, bound)
        if lock is not None and not isinstance(recoding, Mapping):
            require_groups(engine, bound, recoding)
        _require_allowed(engine, bound, recoding, lookup)
        binding, levels = _carried_out(recoding, bound, lookup)
        requirement = requirement_of(binding if lookup is None else _as_regions(binding))
        script = ScriptWriter(engine, binding, requirement, levels, dialect, lookup).script()
    if lock is not None:
        lock.require_source(bound.schema)
        _require_hierarchies(lock, script, bound, own=binding is not bound or lookup is not None)
    return script


def _as_regions(binding: Binding) -> Binding:
    """The binding with what is asked of regions: privacy.adversary.slack asks for more rows than k does."""
    return replace(binding, spec=groups_with_slack(binding.spec))


def _carried_out(
    recoding: Recoding | Mapping[str, int], binding: Binding, lookup: RegionLookup | None
) -> tuple[Binding, Mapping[str, int]]:
    if isinstance(recoding, Mapping):
        return binding, recoding
    carried_out = recoding.in_levels(binding)
    if carried_out is not None:
        own, levels = carried_out
        return own, levels.levels()
    if lookup is not None:
        return binding, dict.fromkeys(binding.names, 0)
    raise UsageError(
        f"search.algorithm: a script cannot say which rows {recoding.recoder} put in which class; "
        f"publish it with sqlanon apply, or search with another algorithm"
    )


def _require_allowed(
    engine: Engine, binding: Binding, recoding: Recoding | Mapping[str, int], lookup: RegionLookup | None
) -> None:
    """Stop where regions or groups have labels that the spec does not allow, or nodes outside the taxonomy."""
    labels: Mapping[str, Sequence[str]] = {}
    if lookup is not None:
        labels = lookup.labels(binding.names)
    elif not isinstance(recoding, Mapping):
        labels = recoding.labels()
    columns = drafted_columns(engine, binding) if labels else []
    wrong = {item.name: labels_outside(engine, item, labels[item.name]) for item in columns}
    if lookup is not None and lookup.nodes is not None:
        nodes = {label for path in lookup.nodes.paths for label in path}
        wrong[lookup.nodes.column] = [label for label in labels[lookup.nodes.column] if label not in nodes]
    for name, found in wrong.items():
        if found:
            raise RequirementError(
                f"column '{name}': {len(found)} labels of its classes are none that the spec allows: plan again"
            )


def _require_hierarchies(lock: Lock, script: Script, binding: Binding, *, own: bool) -> None:
    """Where the groups of cuts are hierarchies of their own, those of the spec must be defined as they were."""
    if not own:
        lock.require_hierarchies(script.hierarchies)
        return
    now = {item.name: fingerprint(item.rule) for item in binding.quasi_identifiers}
    lock.require_definitions(now)


__all__ = ["Script", "ScriptWriter", "compiled", "scripting_named"]
