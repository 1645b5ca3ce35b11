"""The table of algorithms: what each one is, what it promises, and which keys of a spec it honours.

Pure. Every list of algorithms reads it: the spec and its JSON Schema, `check`, the registries, the command line, the
docs. To add an algorithm, write its file and one row here; the row names the function, which is imported when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from sqlanon.spec.places import ViewTarget
from sqlanon.spec.rules import AVERAGES

Kind = Literal["lattice", "local", "mu_argus", "mondrian", "scheme", "cuts", "cells", "personalized"]
"""What an algorithm decides.

lattice: one level for each column. local: levels for each group of rows. mu_argus: one level for each column, and which
single cells are blanked. mondrian: a region for each class.
scheme, cuts: one set of groups for each column. cells: every cell. personalized: classes by everybody's guarding node.
"""

KINDS: dict[Kind, str] = {
    "lattice": "lattice",
    "local": "`local`",
    "mu_argus": "`mu_argus`",
    "mondrian": "`mondrian`",
    "scheme": "schemes",
    "cuts": "cuts",
    "cells": "cells",
    "personalized": "personalized",
}
"""The kinds and the headings that they have in the docs."""


@dataclass(frozen=True)
class Key:
    """A key of the spec, or something that is done with one, which not every algorithm honours."""

    name: str
    words: str
    """For the docs."""
    paths: tuple[tuple[str, ...], ...] = ()
    """Where it is written; `*` stands for every column, or every model. Empty: it is done by a command."""
    remedy: str = "remove it"
    counts: Callable[[Any], bool] = bool
    """Whether a value that differs from the default asks for something."""
    cannot: str = "{algorithm} does not honour it"
    """Why it is refused."""


KEYS = (
    Key("levels", "`columns.*.levels`", (("columns", "*", "levels"),)),
    Key("levels_max", "`columns.*.levels.max`", (("columns", "*", "levels", "max"),)),
    Key("constraints", "`search.constraints`", (("search", "constraints"),)),
    Key("weights", "`columns.*.weight`, `search.weights`", (("columns", "*", "weight"), ("search", "weights"))),
    Key("prefer", "`search.prefer`", (("search", "prefer"),)),
    Key("metric", "`search.metric`", (("search", "metric"),)),
    Key("budget", "`search.budget`", (("search", "budget"),)),
    Key("scheme", "`columns.*.scheme`", (("columns", "*", "scheme"),)),
    Key("direction", "`search.direction`", (("search", "direction"),)),
    Key("bounds", "`search.bounds: values`", (("search", "bounds"),), counts=lambda value: value == "values"),
    Key("seed", "`search.seed`", (("search", "seed"),)),
    Key("satisfies", "`search.satisfies`", (("search", "satisfies"),)),
    Key("model", "`search.model`", (("search", "model"),)),
    Key("mondrian", "`search.mondrian`", (("search", "mondrian"),)),
    Key("local", "`search.local`", (("search", "local"),)),
    Key("tag", "`columns.*.tag`", (("columns", "*", "tag"),), counts=lambda value: value is not None),
    Key("mu_argus", "`search.mu_argus`", (("search", "mu_argus"),)),
    Key("respondent", "`respondent`", (("respondent",),)),
    Key("models", "models of sensitive columns (`l_diversity` ...)", (("privacy", "*"),)),
    Key("population", "`k_map`, `delta_presence`", (("privacy", "k_map"), ("privacy", "delta_presence"))),
    Key(
        "several",
        "several quasi-identifiers, `other_sensitive: known`",
        (("privacy", "quasi_identifiers"), ("privacy", "other_sensitive")),
        "leave one quasi-identifier and no known sensitive columns,",
        counts=lambda value: value == "known" or len(value) > 1,
    ),
    Key(
        "profile",
        "`privacy.profile`, `columns.*.anonymity`",
        (("privacy", "profile"), ("columns", "*", "anonymity")),
        "write privacy.k,",
        counts=lambda value: value is not None,
    ),
    Key("anonymity", "`privacy.anonymity` other than `classic`", (("privacy", "anonymity"),), "write classic"),
    Key(
        "limit",
        "`suppression.limit` above 0",
        (("privacy", "suppression", "limit"),),
        "write 0",
        counts=lambda value: not value.is_zero,
    ),
    Key("differential", "`privacy.differential`", (("privacy", "differential"),), "write privacy.k"),
    Key("averages", "`release: mean`, `median`", (("columns", "*", "release"),), counts=AVERAGES.__contains__),
    Key("slack", "`privacy.adversary.slack`", (("privacy", "adversary", "slack"),)),
    Key("crowd", "`privacy.adversary.suppression`", (("privacy", "adversary", "suppression"),)),
    Key("margin", "`privacy.adversary.margin`", (("privacy", "adversary", "margin"),)),
    Key("choice", "`privacy.adversary.choice`", (("privacy", "adversary", "choice"),)),
    Key("blank", "`suppression.mode: blank`", (("privacy", "suppression", "mode"),), "write drop"),
    Key("ledger", "`history` with a ledger", (("history",),), counts=lambda value: value != "required"),
    Key("history_required", "`history: required`", (("history",),), counts=lambda value: value == "required"),
    Key("recipients", "`recipients`", (("recipients",),), "write a spec for each of them"),
    Key(
        "view",
        "`target: {view: ...}`",
        (("target",),),
        "name a table, for it decides from the rows as they are now and a view cannot,",
        counts=lambda value: isinstance(value, ViewTarget),
    ),
    Key(
        "script",
        "`sqlanon sql`",
        remedy="publish it with sqlanon apply",
        cannot="a script cannot say which rows {algorithm} put in which class",
    ),
    Key(
        "dbt",
        "`sqlanon dbt`",
        remedy="publish it with sqlanon run",
        cannot="a model built by dbt has one level for each column, which {algorithm} does not decide",
    ),
    Key(
        "grid",
        "`sqlanon explore`, `plan --k`, `plan --limit`",
        remedy="plan each requirement by a spec of its own",
        cannot="{algorithm} searches no lattice, from which a grid is answered",
    ),
)
KEY_NAMES = tuple(key.name for key in KEYS)


ITSELF = "itself"


@dataclass(frozen=True)
class Only:
    """An algorithm honours a key only where others have certain values, or only certain values of it."""

    words: str
    """For the message: "ops honours it only <words>"."""
    cell: str
    """For the docs."""
    either: tuple[Mapping[str, tuple[object, ...]], ...]
    """Alternatives, each by path in the spec the values that it may have. ITSELF stands for the key itself."""


@dataclass(frozen=True)
class AlgorithmRow:
    """One algorithm of the table."""

    name: str
    kind: Kind
    made_by: str
    """The function, as module:name."""
    sentence: str
    """For docs and report."""
    promise: str
    honours: frozenset[str]
    """Keys by their names in KEYS."""
    only: Mapping[str, Only] = field(default_factory=dict)
    """Conditions on keys that it honours."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """For the docs: how it honours a key, where "yes" would say too little."""
    minimal: bool = False
    """It looks for minimal vectors only: without constraints, the matrix's least upper bound holds for it."""
    inside_local: bool = False
    """It can be the search of an iteration of `local`."""
    verified: bool = True
    """It sees to it that the release satisfies the requirement. Else its plan is audited, to say whether it does."""

    def load(self) -> Any:
        """The function itself."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(module), name)


def _keys(*names: str) -> frozenset[str]:
    unknown = set(names) - set(KEY_NAMES)
    if unknown:
        raise ValueError(f"no keys of the table: {', '.join(sorted(unknown))}")
    return frozenset(names)


_RELEASE = _keys(
    "levels", "weights", "metric", "respondent", "models", "limit", "blank", "margin", "ledger", "history_required"
)
"""What every algorithm for classes of rows honours."""
_SEARCH = _keys("constraints", "budget", "satisfies")
PASSED_ON = _keys("constraints", "weights", "prefer", "budget", "satisfies")
"""Keys that `local` honours only if the search of its iterations does."""
_ASKED = _keys("levels_max", "model", "population", "several", "profile", "recipients", "view", "differential")
_LATTICE = _RELEASE | _SEARCH | _ASKED | _keys("anonymity", "script", "dbt", "grid", "averages")
_CHOOSING = _LATTICE | {"prefer"}
_LISTING = _CHOOSING | _keys("crowd", "choice")
"""What searches honour that list every acceptable vector."""
_GROUPS = _RELEASE | _keys("budget", "scheme", "seed", "script")
_CELLS = _keys("ledger", "history_required", "anonymity", "margin") | _keys(
    "levels", "levels_max", "constraints", "weights", "prefer", "metric", "budget", "model", "limit", "blank"
)
_PERSONALIZED = _keys(
    "levels", "weights", "metric", "budget", "bounds", "respondent", "blank", "script", "history_required"
)

_MEASURED = ("loss", "dm", "hdm", "aecs")
"""Measures that the release of any class-wise recoding has."""
_REPORTED = Only(
    "for loss, dm, hdm and aecs", "reported: `loss`, `dm`, `hdm`, `aecs`; others refused", ({ITSELF: _MEASURED},)
)
_MINIMIZED = Only("for dm and hdm, which it minimizes", "`dm` and `hdm`, others refused", ({ITSELF: ("dm", "hdm")},))
_UNDER_HDM = Only("with search.metric: hdm", "under `hdm`, else refused", ({"search.metric": ("hdm",)},))
_STRICT = Only(
    "with search.mondrian.kind: strict, for relaxed parts rows of one value",
    "strict yes, relaxed refused",
    ({"search.mondrian.kind": ("strict",)},),
)
_ONLY_K = Only(
    "for k of rows alone",
    "with k of rows alone, else refused",
    ({"privacy.only_k": (True,), "respondent": (None,)},),
)
_NO_ATTRIBUTES = Only(
    "with search.model: CG_ or _CS", "`CG_`, `_CS` yes, else refused", ({"search.model": ("CG_", "_CS")},)
)
_TRIPLES = Only(
    "for 1, groups of three, with search.model: CG_ or _CS",
    "1 with `CG_`, `_CS`, else refused",
    ({ITSELF: (0, 1), "search.model": ("CG_", "_CS")},),
)
_COLUMNS_FIRST = Only("with search.model: AG_CS", "`AG_CS` yes, else refused", ({"search.model": ("AG_CS",)},))

_NOTHING_SUPPRESSED = {"limit": "yes: no row is suppressed", "blank": "yes: no row is suppressed"}
_SCHEME_CONDITIONS = {"metric": _MINIMIZED, "weights": _UNDER_HDM}
_CUT_CONDITIONS = {
    **_SCHEME_CONDITIONS,
    "scheme": Only("for ghs, cuts of the hierarchy", "`ghs`, others refused", ({ITSELF: ("ghs",)},)),
}
_CELL_CONDITIONS = {
    "levels_max": _COLUMNS_FIRST,
    "constraints": _COLUMNS_FIRST,
    "prefer": _COLUMNS_FIRST,
    "budget": _COLUMNS_FIRST,
    "limit": _COLUMNS_FIRST,
    "slack": _NO_ATTRIBUTES,
    "metric": Only(
        "for loss, dm, hdm and aecs, or with search.model: AG_CS",
        "`AG_CS` yes, else reported: `loss`, `dm`, `hdm`, `aecs`; others refused",
        ({ITSELF: _MEASURED}, {"search.model": ("AG_CS",)}),
    ),
}


def _lattice(
    name: str,
    sentence: str,
    promise: str,
    honours: frozenset[str] = _CHOOSING,
    *,
    minimal: bool = False,
    inside_local: bool = False,
) -> AlgorithmRow:
    notes = {"metric": "minimized" if promise == "optimal" else "reported"}
    only = {"crowd": _ONLY_K} if "crowd" in honours else {}
    return AlgorithmRow(
        name,
        "lattice",
        f"sqlanon.search.{name}:search",
        sentence,
        promise,
        honours,
        only,
        notes=notes,
        minimal=minimal,
        inside_local=inside_local,
    )


def _scheme(name: str, sentence: str) -> AlgorithmRow:
    made_by = "sqlanon.recoding.schemes.recoder:recode_exact"
    honours = _GROUPS | {"direction", "bounds"}
    return AlgorithmRow(name, "scheme", made_by, sentence, "optimal in its scheme", honours, _SCHEME_CONDITIONS)


def _cuts(name: str, sentence: str) -> AlgorithmRow:
    made_by = "sqlanon.recoding.schemes.recoder:recode_heuristic"
    return AlgorithmRow(name, "cuts", made_by, sentence, "heuristic", _GROUPS, _CUT_CONDITIONS)


ALGORITHMS: dict[str, AlgorithmRow] = {
    row.name: row
    for row in (
        _lattice(
            "samarati",
            "Samarati's binary search for the lowest height with an acceptable vector.",
            "minimal",
            minimal=True,
            inside_local=True,
        ),
        _lattice(
            "incognito",
            "Incognito: every acceptable vector, by subsets of the columns.",
            "minimal, all acceptable vectors listed",
            _LISTING,
            inside_local=True,
        ),
        _lattice("optimal", "The acceptable vector that costs least under the metric.", "optimal", inside_local=True),
        _lattice(
            "datafly",
            "Datafly: the column with most values is generalized until the release suffices.",
            "heuristic",
            _LATTICE - {"weights"},
            inside_local=True,
        ),
        _lattice(
            "exhaustive",
            "Every vector is evaluated, the cheapest acceptable one taken.",
            "optimal",
            _LISTING,
            inside_local=True,
        ),
        _lattice(
            "minimal", "Every minimal vector, the preferred one taken.", "minimal, all of them listed", minimal=True
        ),
        AlgorithmRow(
            "mu_argus",
            "mu_argus",
            "sqlanon.recoding.mu_argus:recode",
            "mu-Argus: combinations of at most three columns are looked at, and rare ones lose a cell.",
            "none: the release may fail its audit",
            (_RELEASE - {"blank", "ledger"})
            | _keys("levels_max", "constraints", "budget", "tag", "mu_argus", "anonymity"),
            {"metric": _REPORTED},
            {"limit": "yes: the most rows that lose cells"},
            verified=False,
        ),
        AlgorithmRow(
            "mondrian",
            "mondrian",
            "sqlanon.recoding.mondrian.recoder:mondrian",
            "Mondrian: regions of rows are cut in two as long as both halves satisfy the requirement.",
            "heuristic",
            (_RELEASE | _keys("mondrian", "bounds", "script", "averages", "slack")),
            {"metric": _REPORTED, "respondent": _STRICT, "script": _STRICT},
            _NOTHING_SUPPRESSED,
        ),
        AlgorithmRow(
            "local",
            "local",
            "sqlanon.recoding.local:local",
            "Rows that the best vector would suppress are recoded again, by a coarser vector of their own.",
            "heuristic",
            (_RELEASE | _SEARCH | _keys("levels_max", "local", "prefer", "anonymity", "slack")),
            {
                "blank": Only(
                    "for k of rows alone",
                    "with k of rows alone, else refused",
                    ({"privacy.beyond_k": (False,), "respondent": (None,)},),
                )
            },
            {"budget": "yes, for each iteration"},
        ),
        AlgorithmRow(
            "forest",
            "cells",
            "sqlanon.recoding.cells.recoder:recode",
            "Cells are generalized in groups of rows that a forest of nearest neighbours joins.",
            "at most 3k - 3 times the optimum",
            _CELLS | {"slack"},
            _CELL_CONDITIONS,
            _NOTHING_SUPPRESSED,
        ),
        AlgorithmRow(
            "matching",
            "cells",
            "sqlanon.recoding.cells.matching:recode",
            "Cells are generalized in groups of two to five rows, from a matching; for k = 2 and 3.",
            "at most twice the optimum; three times for k = 3 where a column has three values or more",
            (_CELLS - {"margin"}) | {"slack"},
            {**_CELL_CONDITIONS, "slack": _TRIPLES},
            _NOTHING_SUPPRESSED,
        ),
        AlgorithmRow(
            "exact",
            "cells",
            "sqlanon.recoding.cells.exact:recode",
            "Cells are generalized in the groups that cost least of all there are; for some thirty rows.",
            "optimal",
            _CELLS | {"slack"},
            {key: condition for key, condition in _CELL_CONDITIONS.items() if key != "budget"},
            _NOTHING_SUPPRESSED,
        ),
        AlgorithmRow(
            "fitting",
            "cells",
            "sqlanon.recoding.cells.fitting:recode",
            "Labels of single rows are widened until each row can be any of k: global (1,k) anonymity, not classic.",
            "never dearer than `forest` for global (1,k); optimal for some ten rows",
            _CELLS - {"ledger"},
            {key: condition for key, condition in _CELL_CONDITIONS.items() if key != "budget"},
            _NOTHING_SUPPRESSED,
        ),
        _scheme("bhs", "The labels of one level of the hierarchy."),
        _scheme("ghs", "Nodes of the hierarchy at any level: a cut."),
        _scheme("gops", "Ranges of ordered values, guided by the hierarchy."),
        _scheme("gsps", "Sets of values, guided by the hierarchy."),
        _scheme("ops", "Ranges of ordered values."),
        _scheme("sps", "Any sets of values."),
        _cuts("tds", "Top-down specialization: the cut that gains most is refined first."),
        _cuts(
            "bottom_up", "Bottom-up generalization: children that lose least for the rows they save are replaced first."
        ),
        _cuts("genetic", "Cuts are bred by a genetic algorithm."),
        _cuts("annealing", "Cuts are changed at random, ever more carefully (simulated annealing)."),
        AlgorithmRow(
            "personalized",
            "personalized",
            "sqlanon.recoding.personalized.recoder:recode",
            "Groups are divided as far as they go, then joined where that loses least.",
            "optimal among the ways of joining its groups",
            _PERSONALIZED,
            {"metric": _REPORTED},
            _NOTHING_SUPPRESSED,
        ),
        AlgorithmRow(
            "greedy",
            "personalized",
            "sqlanon.recoding.personalized.greedy:recode",
            "Xiao and Tao's greedy framework: one split of one column a round, for all rows.",
            "heuristic",
            _PERSONALIZED,
            {"metric": _REPORTED},
            _NOTHING_SUPPRESSED,
        ),
    )
}


def names_of(*kinds: Kind) -> tuple[str, ...]:
    """The algorithms of these kinds, in the order of the table.

    >>> names_of("cells", "personalized")
    ('forest', 'matching', 'exact', 'fitting', 'personalized', 'greedy')
    """
    return tuple(row.name for row in ALGORITHMS.values() if row.kind in kinds)


def inside_local() -> tuple[str, ...]:
    """The searches that `local` can iterate."""
    return tuple(row.name for row in ALGORITHMS.values() if row.inside_local)


# -- for the docs ------------------------------------------------------------------------------------------------------


def algorithms_table() -> list[str]:
    """The algorithms as the lines of a Markdown table: name, kind, what it does, what it promises."""
    rows = [("algorithm", "kind", "what it does", "promise"), ("---",) * 4]
    rows += [(f"`{row.name}`", row.kind, row.sentence, row.promise) for row in ALGORITHMS.values()]
    return [f"| {' | '.join(cells)} |" for cells in rows]


def keys_table() -> list[str]:
    """Which algorithm honours which key, as the lines of a Markdown table: a row for each key, a column for each kind.

    >>> keys_table()[4]
    '| `search.constraints` | yes | yes | yes | refused | refused | refused | `AG_CS` yes, else refused | refused |'
    """
    lines = [("key", *KINDS.values()), ("---",) * (len(KINDS) + 1)]
    lines += [(key.words, *(_cell(key.name, kind) for kind in KINDS)) for key in KEYS]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _cell(key: str, kind: Kind) -> str:
    """What the algorithms of a kind do with a key: what most of them do, and the exceptions by name."""
    answers: dict[str, list[str]] = {}
    for name in names_of(kind):
        answers.setdefault(_answer(ALGORITHMS[name], key), []).append(name)
    usual, *others = sorted(answers, key=lambda answer: -len(answers[answer]))
    return "; ".join([usual, *(f"{_listed(answers[answer])} {answer}" for answer in others)])


def _answer(row: AlgorithmRow, key: str) -> str:
    if key not in row.honours:
        return "refused"
    return row.only[key].cell if key in row.only else row.notes.get(key, "yes")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
