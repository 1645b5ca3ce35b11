"""JSON Schemas of audits, plans and releases, and the short notation in which schemas are written here.

Pure. A schema names every key of an answer and refuses others. Names of columns, measures and phases are free, and what
an algorithm says of its own steps is left open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FIGURE: Schema = {"type": ["number", "null"]}
"""A measure; null where it is without bound."""
ANY: Schema = {}
VECTOR: Schema = {"type": "array", "items": COUNT}


def told(about: str, schema: Schema) -> Schema:
    """A schema with a sentence for whoever reads it."""
    return {"description": about, **schema}


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def each(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def named(schema: Schema) -> Schema:
    """Values under names that the spec, the data or a search brings."""
    return {"type": "object", "additionalProperties": schema}


def one_of(*words: str | None) -> Schema:
    return {"enum": list(words)}


def keys(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these keys and no others; a name stands for as many keys as it has words."""
    properties = _by_word(required)
    return {
        "type": "object",
        "properties": {**properties, **_by_word(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _by_word(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """
    >>> sorted(_by_word({"k rows": COUNT, "target": TEXT}))
    ['k', 'rows', 'target']
    """
    return {word: schema for names, schema in schemas.items() for word in names.split()}


LINES = each(TEXT)
OPEN = named(ANY)
COUNTS = named(COUNT)
LEVELS = told("The level of each quasi-identifier; empty where columns have no one level.", COUNTS)
SECONDS = told("Seconds by phase.", named({"type": "number", "minimum": 0}))
COUNTED = told("What k and the sizes of classes count.", one_of("rows", "persons", "people", "respondents"))
SCORE = told("The score by measure.", named(FIGURE))
VERDICT = told("Whether the requirement holds; null where nothing was required, or it was not shown.", maybe(FLAG))
BUCKETS = told(
    "Classes by size; the last bucket has no upper end.",
    each(keys({"from": COUNT, "to": maybe(COUNT), "classes": COUNT, "rows": COUNT})),
)
CHANGES = told(
    "What a new lock file changes, and why; null where there was none before.",
    maybe(
        keys(
            {
                "changed": FLAG,
                "changes": LINES,
                "reasons": each(keys({"cause": one_of("data", "spec", "hierarchy", "search"), "text": TEXT})),
            }
        )
    ),
)


# -- audits ------------------------------------------------------------------------------------------------------------


def by_column() -> dict[str, Schema]:
    """What an audit measures of sensitive columns, by model."""
    return {
        "l": named(keys({"distinct": COUNT, "entropy": FIGURE}, {"recursive": named(FIGURE)})),
        "t": named(named(FIGURE)),
        "p_sensitive": COUNTS,
        "alpha": named(keys({"largest": FIGURE}, {"required": each(FIGURE)})),
        "beta": named(FIGURE),
        "delta": named(FIGURE),
    }


def against_population() -> dict[str, Schema]:
    return {"k_map": maybe(COUNT), "delta_presence": maybe(keys({"min": FIGURE, "max": FIGURE}))}


def breaches() -> Schema:
    levels = {"level": maybe(COUNT), "rows": COUNT, "maximum": FIGURE, "average": FIGURE, "above": COUNT}
    return keys(
        {
            "column": TEXT,
            "p_breach": FIGURE,
            "primary": FLAG,
            "external": FLAG,
            "rows": COUNT,
            "maximum": FIGURE,
            "above": COUNT,
            "share_above": FIGURE,
            "outside": COUNT,
            "levels": each(keys(levels)),
            "distribution": each(keys({"from": FIGURE, "rows": COUNT})),
        }
    )


def audit() -> Schema:
    group = {"classes k required_k largest_class classes_at_risk rows_at_risk": COUNT, "columns": LINES, **by_column()}
    requirement = {
        "column kind group": maybe(TEXT),
        "model required": TEXT,
        "classes_at_risk rows_at_risk": COUNT,
        "measured": FIGURE,
        "satisfied": VERDICT,
    }
    return keys(
        {
            "table": TEXT,
            "rows classes k largest_class": COUNT,
            "average_class": FIGURE,
            "counted": COUNTED,
            "required": keys({"k": maybe(COUNT)}),
            "rows_at_risk": COUNT,
            "classes_at_risk": COUNT,
            "highest_risk": FIGURE,
            "average_risk": FIGURE,
            "suppressed": told("By so much the source has more rows, where it is known.", maybe({"type": "integer"})),
            "respondents": told("Distinct persons, where persons were counted.", maybe(COUNT)),
            "distribution": BUCKETS,
            **by_column(),
            **against_population(),
            "consistency": maybe(
                keys({"one_k k_one k_k global_one_k unmatched": maybe(COUNT), "not_measured": maybe(TEXT)})
            ),
            "groups": told(
                "Where the spec has several quasi-identifiers: the figures of each.",
                named(keys(group, against_population())),
            ),
            "requirements": each(keys(requirement)),
            "policy": told(
                "What the spec asks beside the models.",
                each(keys({"name": TEXT, "asked": TEXT, "satisfied": FLAG, "violation": TEXT})),
            ),
            "notes": LINES,
            "satisfied": VERDICT,
            "violations": LINES,
        },
        {"personalized": breaches()},
    )


def audit_of_tables() -> Schema:
    """The audit of several tables over their join."""
    known = {"rows": told("Of each other table.", COUNTS), "combinations k below_k": COUNT}
    check = keys({"name": TEXT, "asked": TEXT, "satisfied": FLAG, "violation": TEXT})
    found = {
        "tables": named(keys({"table": TEXT, "rows": COUNT})),
        "rows persons orphans classes k required_k": COUNT,
        "suppressed": told("People of the source who are in no table.", maybe({"type": "integer"})),
        "known": told("What somebody may know of a person, and how many people it fits.", each(keys(known))),
        "l t": OPEN,
        "policy": told("What the spec asks of each table by itself.", named(each(check))),
        "satisfied": FLAG,
        "violations": LINES,
    }
    return told("For a spec of several tables.", keys(found))


# -- plans and runs ----------------------------------------------------------------------------------------------------


def recoding() -> Schema:
    kind = one_of("full_domain", "cuts", "assigned")
    others = {
        "levels": COUNTS,
        "columns": LINES,
        "groups": COUNTS,
        "algorithm": TEXT,
        "classes": COUNT,
        "fingerprint": TEXT,
        "checksum": each({"type": "integer"}),
        "details": OPEN,
    }
    return told("What decides the labels: levels, groups of values, or classes.", keys({"kind": kind}, others))


def decided() -> dict[str, Schema]:
    """What a search answered: the keys that every plan has."""
    node = {"levels": VECTOR, "suppressed": maybe(COUNT), "classes": maybe(COUNT)}
    return {
        "levels": LEVELS,
        "recoding": recoding(),
        "height": told("The sum of the levels.", maybe(COUNT)),
        "rows": told("Rows of the source.", COUNT),
        "suppressed": COUNT,
        "limit": told("So many rows may be suppressed.", COUNT),
        "classes": COUNT,
        "minimal": told("The minimal solutions that are known.", each(VECTOR)),
        "minimal_complete": told("Whether these are all minimal solutions.", FLAG),
        "ties": told("Other nodes that are as good.", each(VECTOR)),
        "score": SCORE,
        "completeness": FIGURE,
        "lattice": told("Nodes of the lattice.", COUNT),
        "algorithm": TEXT,
        "proven": told("Whether nothing better can exist.", FLAG),
        "gap": told("How much better an answer could be at most, relative to this one; null: no bound.", FIGURE),
        "undecided": COUNT,
        "verified": FLAG,
        "satisfied": VERDICT,
        "nodes": each(keys({**node, "accuracy": FIGURE, "completeness": FIGURE})),
        "acceptable": maybe(COUNT),
        "acceptable_nodes": maybe(each(VECTOR)),
        "checks": told("Nodes that the database was asked for.", COUNT),
        "combinations": told("Distinct combinations of the quasi-identifier.", COUNT),
        "requirement": OPEN,
        "hierarchies": named(keys({"height": COUNT, "top": TEXT, "definition": TEXT})),
        "trace": told("The steps of the search, in its own words.", each(OPEN)),
        "warnings": LINES,
        "distribution": BUCKETS,
        "seconds": SECONDS,
        "engine": TEXT,
    }


def beside_decided() -> dict[str, Schema]:
    """What some plans have."""
    return {
        "accuracy": FIGURE,
        "audit": audit(),
        "explain": told("With --explain: why this node was chosen.", OPEN),
        "recipient": TEXT,
        "series": series_planned(),
    }


def series_planned() -> Schema:
    """Whom a ledger would hold back."""
    figures = maybe(keys({"release joined gone deferred covered staying smallest_track": maybe(COUNT)}))
    found = {"keeps": FLAG, "kept": figures, "new": figures, "reason": maybe(TEXT)}
    return told("With a ledger: what it would do to this recoding, and to that of the lock file.", keys(found))


def written_lock() -> dict[str, Schema]:
    return {"lock": told("The lock file; null where none was written.", maybe(TEXT)), "diff": CHANGES}


def plan() -> Schema:
    return keys({**decided(), **written_lock()}, beside_decided())


def grid() -> Schema:
    cell = {"k": maybe(COUNT), "limit": TEXT, "limit_rows": COUNT, "feasible": FLAG}
    found = {
        "reason": TEXT,
        "levels": LEVELS,
        "height suppressed classes": COUNT,
        "score": SCORE,
        "accuracy completeness": FIGURE,
        "proven verified": FLAG,
    }
    return told(
        "With several --k or --limit.",
        keys(
            {
                "counted": COUNTED,
                "grid": each(keys(cell, found)),
                "rows lattice checks": COUNT,
                "algorithm metric engine": TEXT,
                "seconds": SECONDS,
            }
        ),
    )


def comparison() -> Schema:
    found = {"loss dm hdm c_avg seconds": FIGURE, "suppressed": COUNT, "classes": COUNT, "reason": TEXT}
    compared = keys({"algorithm": TEXT, "feasible": FLAG}, found)
    return told("With --compare.", keys({"compared": each(compared), "rows": COUNT, "limit": COUNT, "engine": TEXT}))


def published() -> dict[str, Schema]:
    """What every release that was put in place has."""
    return {
        "target": TEXT,
        "levels": LEVELS,
        "recoding": recoding(),
        "height": maybe(COUNT),
        "rows": COUNT,
        "suppressed": COUNT,
        "blanked": told("Suppressed rows that are kept without their quasi-identifier.", COUNT),
        "released": told("Rows of the release.", COUNT),
        "classes": COUNT,
        "audit": audit(),
        "swap": told("How the release took its place.", TEXT),
        "run": told("The id under which evidence is kept.", TEXT),
        "evidence": told("The file of evidence; null where none is written.", maybe(TEXT)),
        "seconds": SECONDS,
        "engine": TEXT,
    }


def difference() -> Schema:
    """What two tables that were published one after the other say together."""
    people = {"classes": COUNT, "smallest": maybe(COUNT), "alone": COUNT, "below_k": COUNT}
    found = keys({"number": COUNT, **people, "one_value": COUNTS, "few_values": COUNTS})
    view = {"classes": one_of("class", "coarser class", "table"), "column": maybe(TEXT)}
    pair = {
        "older newer": TEXT,
        "counted": COUNTED,
        "k leavers joiners alone below_k only_older only_newer": COUNT,
        "one_value few_values": COUNTS,
        "views": each(keys({**view, "leavers joiners stayers": found})),
    }
    return keys(pair, {"sql": LINES})


def beside_published() -> dict[str, Schema]:
    return {
        "history": told("Where a ledger is kept: counts of people.", named({"type": ["integer", "null"]})),
        "difference": told("What the release that was replaced and this one say together.", difference()),
        "reused": FLAG,
        "reason": maybe(TEXT),
        "warnings": LINES,
        "recipient": TEXT,
    }


def run() -> Schema:
    planned = {**decided(), **beside_decided()}
    everywhere = published()
    return keys({**everywhere, "lock": TEXT}, {**planned, **beside_published()})


def apply() -> Schema:
    return keys(published(), {**beside_published(), **together()})


def tables_published() -> dict[str, Schema]:
    """What a release of several tables has; people are counted."""
    return {
        "targets": told("The table that each became.", named(TEXT)),
        "levels": LEVELS,
        "recoding": recoding(),
        "height rows suppressed released classes": COUNT,
        "audit": audit_of_tables(),
        "swap": TEXT,
        "run": TEXT,
        "seconds": SECONDS,
        "engine": TEXT,
    }


def run_of_tables() -> Schema:
    everywhere = {**tables_published(), "lock": TEXT}
    beside = {**decided(), "accuracy": FIGURE}
    return told("For a spec of several tables.", keys(everywhere, {**beside, **everywhere}))


def apply_of_tables() -> Schema:
    return told("For a spec of several tables.", keys(tables_published(), {"warnings": LINES}))


def together() -> dict[str, Schema]:
    """What releases to several recipients say together."""
    finding = {
        "first second": TEXT,
        "quasi_identifier": maybe(TEXT),
        "counted": COUNTED,
        "k shared classes classes_at_risk exposed only_in_one": COUNT,
        "smallest": maybe(COUNT),
    }
    return {"together": each(keys(finding)), "warnings": LINES, "notes": LINES}


def for_recipients(one: Schema) -> Schema:
    """The answer for each recipient by name, and what the releases say together."""
    return told("For a spec with recipients.", keys({"recipients": named(one), **together(), "seconds": SECONDS}))
