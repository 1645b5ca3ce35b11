"""The ledger of a series in SQL alone: checked, asked who stays out, and written, by the statements of a run.

For scripts and dbt models, in dialects that have transactions and a keyed hash. What only the place where they run
knows comes as expressions. The secret is the session's: no statement has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo
from sqlanon.engines.ledgers import LEDGER_DIALECTS, LedgerDialect
from sqlanon.engines.scripting import Scripting
from sqlanon.errors import UsageError
from sqlanon.release.script.pages import Pages
from sqlanon.release.series import chain
from sqlanon.release.series import statements as series_sql
from sqlanon.release.series.ledger import edited, opened_to_others, told
from sqlanon.release.series.tracks import asked_of_tracks, has_not_left, stays_or_has_not_left
from sqlanon.source.binding import Binding
from sqlanon.source.history import BoundHistory
from sqlanon.source.keyed_hash import KeyedHash, enough_secret, keys_of_session
from sqlanon.spec.places import variable_of
from sqlanon.sql.build import concat, create_table_as, drop_table, equal, named, query, scalar
from sqlanon.sql.relations import Relation, Table, column, literal, table_expression

ROUNDS = 12
"""How often a script looks for people who leave with others. Should that not be enough, it stops."""

NAMES = ("people", "tracks", "releases")


@dataclass(frozen=True)
class LedgerTexts:
    """What a ledger says of the place where a script runs, as texts of SQL."""

    source: exp.Expression
    target: exp.Expression
    run: exp.Expression
    ledger: exp.Expression
    """Schema and name of the ledger with a dot between, which runs wait for."""
    tables: tuple[exp.Expression, ...]
    """The names of its three tables."""


def dialect_of(scripting: Scripting) -> LedgerDialect:
    """The dialect in which a ledger is kept; UsageError where none can be."""
    found = LEDGER_DIALECTS.get(scripting.name)
    if found is None:
        raise UsageError(
            f"history: a script keeps a ledger on {' and '.join(LEDGER_DIALECTS)}; for {scripting.name} publish with "
            f"sqlanon run, or remove history"
        )
    return found


def bound(binding: Binding) -> BoundHistory:
    """The ledger of a release that keeps one."""
    if binding.history is None:
        raise ValueError("no ledger is kept")
    return binding.history


def texts_of(binding: Binding, scripting: Scripting) -> LedgerTexts:
    """What the ledger says of a script, whose tables have the names of its spec."""
    people, dialect = bound(binding).people, dialect_of(scripting)
    schema = literal(people.schema[-1]) if people.schema else exp.Anonymous(this="current_schema")
    return LedgerTexts(
        source=literal(chain.source_of(binding.spec)),
        target=literal(str(binding.target)),
        run=literal("script"),
        ledger=concat(schema, f".{people.name}"),
        tables=tuple(dialect.text_of(table) for table in bound(binding).tables),
    )


def needs_of(binding: Binding, scripting: Scripting) -> Iterator[str]:
    """The lines of a script's heading that say what its ledger needs."""
    kept = binding.spec.ledger
    if kept is not None:
        variable = variable_of(kept.secret)
        yield f"The session is given the secret of the ledger, which no statement has, as what {variable} holds:"
        yield dialect_of(scripting).given.replace("{variable}", variable)


class LedgerPages:
    """Writes what a script does with a ledger."""

    def __init__(self, pages: Pages, binding: Binding, texts: LedgerTexts) -> None:
        self._pages = pages
        self._binding = binding
        self._texts = texts
        self._history = bound(binding)
        self._dialect = dialect_of(pages.scripting)
        self._traits = pages.scripting.traits
        self._requirement = asked_of_tracks(binding)
        self._keyed = KeyedHash(pages.name("ledger_key"), self._traits)
        self._values = len(binding.sensitive)

    def wait(self) -> None:
        """Write what waits for other runs that write the ledger. What they wrote meanwhile stops the script."""
        if self._dialect.alone:
            waited = self._dialect.expression(self._dialect.alone, place=self._texts.ledger)
            self._pages.add("Wait for other runs of the ledger; the lock ends with the transaction.", waited)

    # -- checking ----------------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Write the tables of a ledger that begins, and who may see them."""
        if self._dialect.open_to_others:
            for table, name in zip(self._history.tables, self._texts.tables, strict=True):
                rights = self._dialect.expression(self._dialect.open_to_others, name=name)
                holds = exp.select(equal(exp.Subquery(this=rights), literal(0)))
                self._pages.stop_unless(f"Stop if others may see {table}.", holds, opened_to_others(table))
        made = (series_sql.nobody(), series_sql.no_tracks(), series_sql.no_releases())
        for table, rows, what in zip(self._history.tables, made, NAMES, strict=True):
            create = create_table_as(table, rows, self._traits, scratch=False)
            create.set("exists", True)
            self._pages.add(f"The {what} of the ledger; made where there are none.", create)

    def close(self) -> None:
        """Take the tables from everybody but their owner: schemas may grant by default."""
        statements = [item for table in self._history.tables for item in self._dialect.closed(table)]
        if statements:
            self._pages.add("Nobody but the owner of the ledger sees it, whatever the schema grants.", *statements)

    def check(self) -> None:
        """Write what stops a script whose session has no secret, or whose ledger is not what was written last."""
        kept, history, pages = self._binding.spec.ledger, self._history, self._pages
        name = variable_of(kept.secret) if kept is not None else ""
        said = f"history.secret: the session has no secret of 16 bytes or more: {name} was not given to it"
        pages.stop_unless("Stop if the session has no secret.", enough_secret(self._dialect), said)
        keys = keys_of_session(self._dialect, self._traits, "ledger")
        pages.create("The padded keys of the ledger's hash (RFC 2104), from the session's secret.", "ledger_key", keys)
        mark = self._keyed.of_text(literal(chain.MARK))
        others = query("select count(*) = 0 from r where secret_mark <> :mark", {"r": history.releases}, mark=mark)
        said = f"history.secret: the ledger {history.people} was written with another secret, or was changed by hand"
        pages.stop_unless("Stop if the ledger has another secret.", others, said)
        chained = chain.unchained(history.releases, self._keyed)
        whole = exp.select(equal(scalar(chained), literal(0)))
        pages.stop_unless("Stop if an event was changed.", whole, str(edited(history.releases)))
        # Without events there is nobody: a table that was dropped has been made anew.
        state = query(
            "select coalesce((select state from r order by release desc limit 1) = :state,"
            " (select count(*) from p) + (select count(*) from t) = 0)",
            {"r": history.releases, "p": history.people, "t": history.tracks},
            state=chain.state(history.people, history.tracks, self._keyed),
        )
        pages.stop_unless("Stop if people or tracks were changed.", state, str(edited(history.people)))
        kept_for = query(
            "select coalesce((select contract from r order by release desc limit 1) = :contract, true) as same",
            {"r": history.releases},
            contract=self._contract(),
        )
        said = f"history.ledger: {history.people} was kept for another source, key or requirement"
        pages.stop_unless("Stop if the ledger is that of another spec.", kept_for, said)

    def _contract(self) -> exp.Expression:
        spec = self._binding.spec
        key = self._history.key.name if spec.ledger is None else spec.ledger.key
        asked = literal(chain.requirement_of(spec))
        return self._keyed.of_text(chain.joined_in_sql([self._texts.source, literal(key), asked]))

    # -- deciding ----------------------------------------------------------------------------------------------------

    def begin(self, staged: Relation, infos: Mapping[str, ColumnInfo]) -> None:
        """Write who stands in a release, and on which track: where rounds begin."""
        pages, history, traits = self._pages, self._history, self._traits
        binding = self._binding
        keys, values = (
            [traits.key(column(name, "source"), infos[name].family) for name in names]
            for names in (binding.names, [item.name for item in binding.sensitive])
        )
        source = traits.relation(binding.source, "source")
        key = traits.key(column(history.key.name, "source"), history.key.family)
        counted = series_sql.persons_of(source, key)
        once = query("select c.rows_read = c.known and c.known = c.persons from c", {"c": counted})
        said = "history.key: the source has rows without a key, or several rows of a person; a ledger needs one of each"
        pages.stop_unless("Stop unless each person has one row.", once, said)
        person, values_told = self._keyed.of(column(history.key.name, "source"), history.key), self._told()
        rows = exp.select("*").from_(traits.relation(staged, "staged"))
        seen = series_sql.told_apart(rows, person, values_told, keys, values, history.left)
        table = pages.create("The rows with the hash of their person and the number of their class.", "seen", seen)
        everybody = series_sql.people(table, history.people, self._values)
        people = pages.create("Everybody of the release, with the track so far.", "people", everybody, analyzed=True)
        gone = series_sql.gone(people, history.people, history.tracks)
        pages.create("How many people of each track are not in the release.", "gone", gone)
        last = scalar(
            query(
                "select coalesce(max(release), 0) as last from r"
                " where target = :target and event in ('release', 'begin')",
                {"r": history.releases},
                target=self._texts.target,
            )
        )
        standing = series_sql.present_tracks(history.tracks, [last])
        pages.create("The tracks of those who stand in the table that is replaced.", "before", standing)
        self._let_leave(people)
        nobody = query("select p.person, p.track, p.leaving from p where 1 = 0", {"p": people})
        pages.create("Who stays out, as rounds find them.", "held", nobody)

    def _let_leave(self, people: Table) -> None:
        """Write the people of the first round: where the source keeps those who have left, who of them stays."""
        pages, place, values = self._pages, self._pages.name, self._values
        if self._history.left is None:
            pages.create("The people that a round looks at.", "now", series_sql.in_round(people, values))
            return
        rest, k = series_sql.in_round(people, values, has_not_left()), self._binding.k
        rest_table = pages.create("The people, those who have left being out of the release.", "rest", rest)
        for name, table, words in (("failing_whole", people, "with"), ("failing_rest", rest_table, "without")):
            failing = series_sql.failing_groups(table, self._requirement, values)
            pages.create(f"The groups that fail {words} those who have left.", name, failing)
        after = series_sql.without_groups(rest_table, place("failing_whole"), values)
        pages.create("The people without groups that fail anyway.", "rest_after", after)
        short = series_sql.failing_absent(place("rest_after"), place("gone"), self._requirement, values, k)
        pages.create("The tracks of which too few would be absent.", "rest_short", short)
        bound_tracks = series_sql.bound_tracks(place("failing_rest"), place("failing_whole"), place("rest_short"))
        bound_table = pages.create("The tracks that nobody can leave yet.", "bound", bound_tracks)
        first = series_sql.in_round(people, values, stays_or_has_not_left(bound_table, place("before")))
        pages.create("The people that a round looks at.", "now", first)

    def _told(self) -> exp.Expression:
        return told(self._binding, self._history.key.name, self._keyed)

    def decided(self, staged: Table, infos: Mapping[str, ColumnInfo], names: Sequence[str]) -> Table:
        """Write all of it, as many rounds as a script has: the rows that may be published."""
        self.begin(staged, infos)
        for number in range(1, ROUNDS + 1):
            self.round(f"Round {number} of {ROUNDS}")
        return self.settle(names)

    def round(self, which: str) -> None:
        """Write one round; once no track is looked at any more, it changes nothing."""
        place, values = self._pages.name, self._values
        now, held, gone = place("now"), place("held"), place("gone")
        failing, without, short, chosen = (place(name) for name in ("failing", "without", "short", "chosen"))
        k = self._binding.k
        settled = series_sql.settled(without, short)
        self._pages.add(
            f"{which}: groups that fail stay out; where the absent of a track fail, others of it leave with them.",
            self._scratch(failing, series_sql.failing_groups(now, self._requirement, values)),
            self._scratch(without, series_sql.without_groups(now, failing, values)),
            self._scratch(short, series_sql.failing_absent(without, gone, self._requirement, values, k)),
            series_sql.insert(held, ("person", "track", "leaving"), settled),
            self._scratch(chosen, series_sql.covers(without, short, values)),
            drop_table(now),
            self._scratch(now, series_sql.touched(without, short, chosen, values)),
            *(drop_table(table) for table in (failing, without, short, chosen)),
        )

    def _scratch(self, table: Table, rows: exp.Query) -> exp.Create:
        return create_table_as(table, rows, self._traits, scratch=True)

    @property
    def open_tracks(self) -> exp.Select:
        """How many people a further round has to look at."""
        return series_sql.rows_of(self._pages.name("now"))

    def settle(self, names: Sequence[str]) -> Table:
        """Write what follows once rounds have ended: the rows that may be published, of these columns."""
        pages, place, history, kept = self._pages, self._pages.name, self._history, self._binding.spec.ledger
        ended = exp.select(equal(scalar(self.open_tracks), literal(0)))
        said = "history: who leaves with whom takes more rounds than this script has; publish with sqlanon run"
        pages.stop_unless("Stop unless every track is settled.", ended, said)
        people, held, seen = place("people"), place("held"), place("seen")
        published = pages.create("The people who are published.", "published", series_sql.present(people, held))
        before = place("before")
        counted = query(
            "select h.deferred, h.covered, j.n as joined, g.n as gone, s.n as staying"
            " from h cross join j cross join g cross join s",
            {
                "s": series_sql.staying(published),
                "h": series_sql.held_figures(held),
                "j": series_sql.joined(published),
                "g": series_sql.gone_since(history.people, before, people, held),
            },
        )
        figures = pages.create("What the ledger does to the release, in people.", "figures", counted)
        for policy, name, words in (("joiners", "deferred", "newcomers wait"), ("leavers", "covered", "people leave")):
            if kept is not None and getattr(kept, policy) == "refuse":
                holds = query("select :figure = 0 from f", {"f": figures}, figure=column(name))
                said = f"history.{policy}: the spec refuses that {words} for the sake of others; nothing was published"
                pages.stop_unless(f"Stop where {words} for the sake of others.", holds, said)
        rows = series_sql.without_people(seen, held, names)
        return pages.create("The rows of the release without the people who are held back.", "tracked", rows)

    def held(self) -> exp.Expression:
        """How many rows are held back."""
        return scalar(series_sql.rows_of(self._pages.name("held")))

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write the release into the ledger."""
        pages, history, place = self._pages, self._history, self._pages.name
        published = place("published")
        groups = pages.create("A new track for each group.", "groups", series_sql.new_tracks(published, history.tracks))
        number = query("select coalesce(max(release), 0) + 1 as release from r", {"r": history.releases})
        rows = series_sql.tracks_of(groups, scalar(number))
        now = series_sql.people_now(history.people, published, groups)
        people = pages.create("The people of the ledger from now on.", "ledger", now)
        everybody = exp.select(*(column(name) for name in series_sql.PEOPLE)).from_(table_expression(people))
        pages.add(
            "Write tracks and people.",
            series_sql.insert(history.tracks, series_sql.TRACKS, rows),
            exp.Delete(this=table_expression(history.people)),
            series_sql.insert(history.people, series_sql.PEOPLE, everybody),
        )
        names = (*series_sql.NUMBERS, *series_sql.TEXTS)
        pages.add("Write the event, the last of the chain.", series_sql.insert(history.releases, names, self._event()))

    def _event(self) -> exp.Select:
        history, figures = self._history, self._pages.name("figures")
        source = self._traits.relation(self._binding.source, "source")
        smallest = series_sql.smallest_track(history.people, history.tracks)
        values: dict[str, exp.Expression] = {
            "release": scalar(query("select coalesce(max(release), 0) + 1 as n from r", {"r": history.releases})),
            "rows": scalar(exp.select(exp.Count(this=exp.Star())).from_(source)),
            **{name: column(name, "f") for name in ("joined", "gone", "deferred", "covered", "staying")},
            "smallest": exp.Coalesce(this=scalar(smallest), expressions=[literal(0)]),
            "event": literal("release"),
            "run": self._texts.run,
            "target": self._texts.target,
            "published": self._dialect.expression(self._dialect.now),
            "secret_mark": self._keyed.of_text(literal(chain.MARK)),
            "contract": self._contract(),
            "state": chain.state(history.people, history.tracks, self._keyed),
        }
        last = query("select r.digest from r order by r.release desc limit 1", {"r": history.releases})
        before = exp.Coalesce(this=scalar(last), expressions=[literal("")])
        event = series_sql.release_row({**values, "digest": before}).from_(table_expression(figures, "f"))
        digest = chain.event_digest(column("digest", "e"), self._keyed, "e")
        return exp.select(
            *(column(name, "e") for name in (*series_sql.NUMBERS, *series_sql.TEXTS) if name != "digest"),
            named(digest, "digest"),
        ).from_(exp.Subquery(this=event, alias=exp.TableAlias(this=exp.to_identifier("e", quoted=True))))
