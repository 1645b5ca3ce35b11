"""What a script that keeps a ledger asks of a dialect: the secret of its session, bytes as digits, rights, waiting.

Only dialects whose scripts are executed by the tests, within one transaction, are listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from sqlanon.engines.dialects import parsed, quoted_name, with_holes_filled
from sqlanon.sql.relations import Table, literal

# Default privileges, those of the schema too, have been given by the time that this runs.
_CLOSE: Final = """
declare statement text;
begin
    for statement in
        select distinct format('REVOKE ALL ON TABLE %s FROM %s', cast(c.oid as regclass),
            case when a.grantee = 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end)
        from pg_class as c cross join lateral aclexplode(c.relacl) as a
        where c.oid = to_regclass({name}) and a.grantee <> c.relowner
    loop
        execute statement;
    end loop;
end
"""

OPEN_TO_OTHERS: Final = """
select count(*) from (
    select a.grantee, c.relowner from pg_class as c cross join lateral aclexplode(c.relacl) as a
    where c.oid = to_regclass(:name)
    union all
    select a.grantee, c.relowner from pg_class as c
    join pg_attribute as t on t.attrelid = c.oid cross join lateral aclexplode(t.attacl) as a
    where c.oid = to_regclass(:name)
) as g where g.grantee <> g.relowner
"""

LOCK_SPACE: Final = 0x5372 << 48
"""The upper bits of the keys of targets and ledgers; those of runs that are alive lie in another space."""


def closed_to_others(name: str) -> exp.Command:
    """The statement that takes a table from every role but its owner's, whatever default privileges have given."""
    body = _CLOSE.replace("{name}", literal(name).sql("postgres"))
    return exp.Command(this="DO", expression=literal(body).sql("postgres"))


@dataclass(frozen=True)
class LedgerDialect:
    """One dialect; texts are SQL of it, with `:holes`."""

    name: str
    secret: str
    """The secret as the session was given it; NULL where it was not."""
    given: str
    """How a session is given the secret that the environment variable `{variable}` holds: no statement has it."""
    built: str
    """The same for a build by dbt."""
    digits: str
    """The UTF-8 bytes of `:text` in hexadecimal digits."""
    hashed: str
    """SHA-256 of the same bytes, in such digits."""
    now: str
    """This moment in UTC, as the ledger has it."""
    alone: str = ""
    """Waits for other runs that write the ledger `:place`, a text of its schema and name, to the end of the
    transaction; empty where none can be."""
    open_to_others: str = ""
    """How many rights others than its owner have on the table `:name`; empty where there are no roles."""

    def expression(self, template: str, **holes: exp.Expression) -> exp.Expression:
        """One of the texts, filled."""
        return with_holes_filled(parsed(template, self.name), **holes)

    def closed(self, table: Table) -> list[exp.Expression]:
        """What takes a table from everybody but its owner."""
        return [closed_to_others(quoted_name(table, self.name))] if self.open_to_others else []

    def text_of(self, table: Table) -> exp.Expression:
        """The name of a table as a text that means it."""
        return literal(quoted_name(table, self.name))


LEDGER_DIALECTS = {
    item.name: item
    for item in (
        LedgerDialect(
            "duckdb",
            secret="getvariable('sqlanon_secret')",
            given="duckdb -cmd \"set variable sqlanon_secret = getenv('{variable}')\" ...",
            built="dbt build, with {variable} set",
            digits="lower(hex(encode(:text)))",
            hashed="sha256(encode(:text))",
            now="strftime(now() at time zone 'UTC', '%Y-%m-%dT%H:%M:%S') || '+00:00'",
        ),
        LedgerDialect(
            "postgres",
            secret="nullif(current_setting('sqlanon.secret', true), '')",
            given='PGOPTIONS="-c sqlanon.secret=${variable}" psql ...',
            built='PGOPTIONS="-c sqlanon.secret=${variable}" dbt build',
            digits="encode(convert_to(:text, 'UTF8'), 'hex')",
            hashed="encode(sha256(convert_to(:text, 'UTF8')), 'hex')",
            now="to_char(now() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS') || '+00:00'",
            alone=(
                f"select pg_advisory_xact_lock({LOCK_SPACE} + cast(cast('x' || substr(encode(sha256("
                f"convert_to(:place, 'UTF8')), 'hex'), 1, 12) as bit(48)) as bigint)) is null as waited"
            ),
            open_to_others=OPEN_TO_OTHERS,
        ),
    )
}
"""The dialects in which a script keeps a ledger."""
