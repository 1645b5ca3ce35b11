"""JSON Schemas of what sqlanon writes for programs: the answer of each command to `--json`, and its files.

`VERSION` counts changes that a program has to know of: a key that goes, or says something else. The tests hold every
answer of a command to the schema of its name.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlanon.cli.schemas import (
    BUCKETS,
    CHANGES,
    COUNT,
    COUNTED,
    COUNTS,
    FIGURE,
    FLAG,
    LINES,
    OPEN,
    SECONDS,
    TEXT,
    VECTOR,
    VERDICT,
    Schema,
    apply,
    apply_of_tables,
    audit,
    audit_of_tables,
    beside_decided,
    beside_published,
    comparison,
    decided,
    difference,
    each,
    for_recipients,
    grid,
    keys,
    maybe,
    named,
    one_of,
    plan,
    published,
    run,
    run_of_tables,
    told,
)

VERSION = 1
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def check() -> Schema:
    found = {
        "columns": told("The role of each column.", named(TEXT)),
        "hierarchies": named(keys({"values": COUNT, "labels": VECTOR, "top": TEXT})),
        "accepted": told("The reason why a column is released as it is.", named(TEXT)),
        "persons": maybe(keys({"column": TEXT, "k": COUNT, "persons": COUNT, "classes": COUNT})),
    }
    shared = {"spec": TEXT, "valid": {"const": True}, "offline": FLAG, "connection": TEXT}
    wrong = keys({"spec": TEXT, "valid": {"const": False}, "problems": LINES, "exit_code": COUNT})
    rules = {"rules": told("Columns that are made by a rule, in words.", named(TEXT))}
    one = {"anyOf": [keys({**shared, **found}, rules), keys({**shared, "recipients": named(keys(found, rules))})]}
    tables = {
        "tables": told("The role of each column of each table.", named(named(TEXT))),
        "known": COUNTS,
        "hierarchies": found["hierarchies"],
        "accepted": found["accepted"],
        **rules,
    }
    one["anyOf"].append(told("For a spec of several tables.", keys({**shared, **tables})))
    several = told("Of several specs.", keys({"specs": each({"anyOf": [*one["anyOf"], wrong]})}))
    return {"anyOf": [*one["anyOf"], several]}


def draft() -> Schema:
    column = {
        "role": TEXT,
        "reason": TEXT,
        "review": FLAG,
        "distinct": COUNT,
        "nulls": COUNT,
        "hierarchy": maybe(TEXT),
        "loss": maybe(each(FIGURE)),
    }
    clause = {"clause": told("What a preset answers with it.", TEXT)}
    return keys(
        {
            "spec": maybe(TEXT),
            "rows": COUNT,
            "respondent": maybe(TEXT),
            "hierarchies": told("The csv files beside the draft.", named(TEXT)),
            "columns": named(keys(column, clause)),
            "yaml": TEXT,
        }
    )


def imported() -> Schema:
    return keys({"spec": TEXT, "hierarchies": named(TEXT), "review": LINES})


def exposure() -> Schema:
    return told(
        "Counts and shares, and with --statements the SQL.", maybe(named({"type": ["number", "string", "null"]}))
    )


def attack() -> Schema:
    one = {
        "attack": TEXT,
        "column": maybe(TEXT),
        "explained": TEXT,
        "headline": told("The figure that says most.", TEXT),
        "before": exposure(),
        "after": exposure(),
    }
    attacks = keys(
        {"source": TEXT, "target": maybe(TEXT), "attacks": each(keys(one)), "notes": LINES}, {"names": LINES}
    )
    return {"anyOf": [attacks, series()]}


def series() -> Schema:
    pairs = each(difference())
    return told("With --series.", keys({"tables": LINES, "exposing": FLAG, "pairs": pairs, "notes": LINES}))


def risk() -> Schema:
    chances = {"highest": FIGURE, "average": FIGURE}
    above = each(keys({"threshold": FIGURE, "rows": COUNT, "share": FIGURE}))
    subset = {"columns": LINES, "classes uniques at_risk": COUNT}
    special = {
        "size rows highest_score total_score": COUNT,
        "sets": COUNTS,
        "above": each(keys({"score": COUNT, "rows": COUNT})),
        "contributions": named(FIGURE),
    }
    table = keys(
        {
            "table": TEXT,
            "columns": LINES,
            "counted": COUNTED,
            "rows classes smallest_class largest_class uniques": COUNT,
            "uniqueness": FIGURE,
            "distribution": BUCKETS,
            "prosecutor": keys({**chances, "at_risk": above}),
            "journalist": maybe(keys({**chances, "at_risk": above})),
            "marketer": FIGURE,
            "population": maybe(keys({"people fewest uniques fewer_classes": COUNT})),
        },
        {
            "subsets": keys(
                {
                    "size": COUNT,
                    "k": COUNT,
                    "subsets": each(keys({**subset, "distinction": FIGURE, "separation": FIGURE})),
                }
            ),
            "special_uniques": keys(special),
        },
    )
    return keys({"before": table, "after": maybe(table), "notes": LINES})


def utility() -> Schema:
    pair = keys({"before": FIGURE, "after": FIGURE})
    column = {
        "column": TEXT,
        "values": COUNT,
        "labels": COUNT,
        "level": maybe(COUNT),
        "height": COUNT,
        "unknown": COUNT,
    }
    means = {"mean_before mean_after average_difference greatest_difference": FIGURE}
    best = keys({"column": TEXT, "before": FIGURE, "after": FIGURE})
    return keys(
        {
            "source": TEXT,
            "target": TEXT,
            "table": named(FIGURE),
            "columns": each(keys({**column, "loss entropy entropy_star": FIGURE})),
            "associations": each(keys({"columns": LINES, "before after corrected_before corrected_after": FIGURE})),
            "association_change": FIGURE,
            "group_means": each(keys({"column": TEXT, "by": TEXT, "groups": COUNT, **means})),
            "classification": each(
                keys({"target": TEXT, "usual": pair, "stumps": named(pair), "best": best, "together": pair})
            ),
            "queries": maybe(errors_of_queries()),
            "notes": LINES,
        }
    )


def errors_of_queries() -> Schema:
    """Relative errors of count queries, by type."""
    errors = {"average deviation median largest": FIGURE}
    return named(keys({"queries": COUNT, **errors}))


def workload() -> Schema:
    return keys({"table": TEXT, "rows": COUNT, "empty": COUNT, "errors": errors_of_queries()})


def status() -> Schema:
    drift = keys(
        {
            "changed": maybe(FLAG),
            "planned_rows": COUNT,
            "rows": COUNT,
            "suppressed": maybe(COUNT),
            "limit": COUNT,
            "acceptable": FLAG,
            "reason": maybe(TEXT),
            "diff": CHANGES,
        }
    )
    one = keys(
        {
            "recipient": maybe(TEXT),
            "target": TEXT,
            "published": FLAG,
            "satisfied": VERDICT,
            "audit": maybe(audit()),
            "drifted": maybe(FLAG),
            "drift": maybe(drift),
        },
        {"series": ledger_state()},
    )
    return {"anyOf": [one, keys({"satisfied": VERDICT, "recipients": named(one)})]}


def report() -> Schema:
    return keys({"report format target": TEXT, "bytes": COUNT, "satisfied": VERDICT, "notes": LINES, "seconds": FIGURE})


def hierarchies() -> Schema:
    required = {"height values leaves": COUNT, "labels": VECTOR, "top": TEXT}
    shown = {"sample": told("With --show-values.", each(each(maybe(TEXT)))), "file": TEXT}
    return keys({"hierarchies": named(keys(required, shown))})


def dbt() -> Schema:
    model = {**decided(), "model": TEXT, "files": LINES, "lock": TEXT, "changed": LINES, "diff": CHANGES}
    return keys({"models": each(keys(model, beside_decided()))})


def evidence_runs() -> Schema:
    head = {
        "run command started finished source target": TEXT,
        "recipient": maybe(TEXT),
        "vector": VECTOR,
        "rows": COUNTS,
        "outcome": one_of("published", "failed"),
        "k": maybe(COUNT),
    }
    return told("Of a spec: the heads of its runs.", keys({"runs": each(keys(head))}))


def evidence() -> Schema:
    """An evidence file, which `sqlanon evidence RUN --json` prints as it is."""
    statement = {"step": TEXT, "seconds": FIGURE, "rows": maybe({"type": "integer"}), "failed": FLAG}
    return keys(
        {
            "version": {"const": 1},
            "run command started finished source target engine": TEXT,
            "outcome": one_of("published", "failed"),
            "failure": told("The kind of the error, never its text.", maybe(keys({"error": TEXT, "exit_code": COUNT}))),
            "spec": keys({"file": maybe(TEXT), "hash": TEXT}),
            "recipient": maybe(TEXT),
            "versions": keys({"sqlanon engine python": TEXT}),
            "rows": told("Of the source, suppressed, blanked and released; empty for a run that failed.", COUNTS),
            "requirement": OPEN,
            "accepted": named(TEXT),
            "vector": VECTOR,
            "levels": named(keys({"level": COUNT, "height": COUNT})),
            "reused": maybe(FLAG),
            "reason": maybe(TEXT),
            "search": told("What the search did; null where a lock file had decided.", maybe(OPEN)),
            "audit": keys({"before": maybe(OPEN), "after": maybe(audit())}),
            "seconds": SECONDS,
            "statements": each(keys(statement)),
        },
        {"history": named({"type": ["integer", "null"]}), "rules derived": named(TEXT)},
    )


def demo() -> Schema:
    return keys(
        {**published(), "lock": TEXT, "before": audit()}, {**decided(), **beside_decided(), **beside_published()}
    )


def lock() -> Schema:
    from sqlanon.release.lock_schema import LockFile

    return LockFile.model_json_schema()


def spec() -> Schema:
    from sqlanon.spec import json_schema

    return json_schema()


def ledger_state() -> Schema:
    event = {
        "release": COUNT,
        "event": TEXT,
        "target": maybe(TEXT),
        "published": maybe(TEXT),
        "rows joined gone deferred covered staying smallest": maybe(COUNT),
    }
    return keys(
        {
            "ledger": TEXT,
            "people": maybe(COUNT),
            "smallest_track": told("The fewest people who share all of their history.", maybe(COUNT)),
            "events": each(keys(event)),
            "problems": LINES,
        }
    )


def ledger() -> Schema:
    return {"anyOf": [ledger_state(), keys({"forgotten": COUNT}), run()]}


ANSWERS: dict[str, Callable[[], Schema]] = {
    "demo": demo,
    "init": draft,
    "import": imported,
    "check": check,
    "plan": lambda: {"anyOf": [plan(), grid(), comparison(), for_recipients(plan())]},
    "apply": lambda: {"anyOf": [apply(), apply_of_tables()]},
    "run": lambda: {"anyOf": [run(), for_recipients(run()), run_of_tables()]},
    "audit": lambda: {"anyOf": [audit(), audit_of_tables()]},
    "risk": risk,
    "attack": attack,
    "utility": utility,
    "workload": workload,
    "status": status,
    "report": report,
    "explore": lambda: keys({"url": TEXT, "lock": TEXT}),
    "sql": lambda: {
        "anyOf": [keys({"dialect": TEXT, "files": named(TEXT), "sql": TEXT}), keys({"policies": TEXT})],
    },
    "hierarchies": hierarchies,
    "dbt": dbt,
    "evidence": lambda: {"anyOf": [evidence_runs(), evidence()]},
    "cleanup": lambda: keys({"tables": LINES, "evidence": LINES, "kept": COUNT, "dry_run": FLAG}),
    "ledger": ledger,
    "grants": lambda: keys({"role": TEXT, "statements": LINES}),
}
"""What each command answers to --json."""

FILES: dict[str, Callable[[], Schema]] = {"spec": spec, "lock": lock, "evidence-file": evidence}
"""What stands in files."""

ERROR = told(
    "What any command answers where it fails.",
    keys({"error": keys({"type": TEXT, "message": TEXT, "exit_code": COUNT})}),
)


def schema_of(name: str) -> Schema:
    """The schema of a command's answer, or of a file."""
    if name in FILES:
        return {"$schema": DRAFT, "$id": f"urn:sqlanon:{name}:{VERSION}", **FILES[name]()}
    heading = {"$schema": DRAFT, "$id": f"urn:sqlanon:answer:{name}:{VERSION}", "title": f"sqlanon {name} --json"}
    answer = ANSWERS[name]()
    return {**heading, "anyOf": [*answer.get("anyOf", (answer,)), ERROR]}
