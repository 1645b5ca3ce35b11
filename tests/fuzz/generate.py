"""A random case from one number: a hostile little table, hierarchies for it, and a spec that asks much of both."""

from __future__ import annotations

import csv
import datetime
import io
from random import Random
from typing import Any

from tests.fuzz.case import POPULATION, REFERENCE, Case, Cell, Column, Table
from tests.fuzz.labels import DATES, NUMBERS
from tests.fuzz.ladders import WHOLE, population_values

LATTICE = ("optimal", "samarati", "minimal", "incognito", "exhaustive", "datafly")
SCHEMES = ("bhs", "ghs", "gops", "gsps", "ops", "sps", "tds", "bottom_up", "genetic", "annealing")
CELLS = ("forest", "matching", "exact", "fitting")
PERSONAL = ("personalized", "greedy")
ALGORITHMS = (*LATTICE, "mu_argus", "mondrian", "local", *SCHEMES, *CELLS, *PERSONAL)
METRICS = ("height", "loss", "entropy", "entropy*", "dm", "dm*", "aecs", "precision", "hdm")
PREFERENCES = (
    "minimum_suppression",
    "minimum_absolute_distance",
    "minimum_relative_distance",
    "minimum_weighted_distance",
    "maximum_distribution",
    "highest_absolute_peak",
    "lowest_relative_peak",
    "fewest_generalized",
    "most_generalized",
)
MODELS = ("l_diversity", "t_closeness", "alpha", "p_sensitive", "beta_likeness", "delta_disclosure")

NAMES = (
    "plain",
    "two words",
    "with.dot",
    'double"quote',
    "single'quote",
    "back\\slash",
    "Capitals",
    "UPPER CASE",
    "select",
    "Order",
    "group",
    "user",
    "null",
    "value",
    "n",
    "k",
    "kept",
    "rows",
    "c0_0",
    "code_0",
    "class",
    "%s",
    ":bound",
    "?",
    "{braces}",
    "a,b",
    "2026",
    "Straße",
    "名前",
    "café",
    "dash--comment",
    "`tick`",
    " lead",
    "trail ",
)
PLAIN = ("alpha", "bravo", "charlie", "delta", "echo", "golf", "hotel", "india", "juliet", "kilo", "lima", "mike")
TABLES = ("source", "My Table", "raw.data", 'quo"te', "select", "Größe", "UPPER")
WORDS = (
    "Zebrafish",
    "zebrafish",
    "Zebrafish ",
    " Zebrafish",
    "O'Brien-Quux",
    'say "hello"',
    "back\\slash",
    "",
    " ",
    "straße",
    "strasse",
    "caf\u00e9",
    "cafe\u0301",
    "名前さん",
    "a;b",
    "a,b",
    "{x}",
    "[1-5]",
    "NULL",
    "null",
    "%s",
    "${HOME}",
    "-- comment",
    "tab\there",
    "two\nlines",
    "=1+1",
    "0",
    "00",
    "true",
    "12-34",
    "x - y",
    "'",
    '"',
    "Quetzalcoatl",
    "Xylophone",
)


class Draw:
    """Random choices, and the names and files of the case that is being made."""

    def __init__(self, seed: int, engine: str) -> None:
        self.random = Random(f"{engine} {seed}")
        self.seed, self.engine = seed, engine
        plain = self.random.random() < 0.4
        # Spark's catalog and files of SQLite take names of columns as they are, too.
        self.names = list(PLAIN if plain else NAMES)
        self.random.shuffle(self.names)
        self.files: dict[str, str] = {}
        self.references: dict[str, Table] = {}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def some(self, options: Any, least: int, most: int) -> list[Any]:
        options = list(options)
        return self.random.sample(options, min(len(options), self.random.randint(least, most)))


def generate(seed: int, engine: str) -> Case:
    """The case of a number; the same number makes the same case."""
    draw = Draw(seed, engine)
    algorithm = draw.one(
        draw.one([LATTICE, LATTICE, LATTICE, LATTICE, ("mondrian",), ("local",), SCHEMES, SCHEMES, CELLS, PERSONAL])
    )
    if draw.chance(0.02):
        algorithm = "mu_argus"
    size = (
        draw.one([0, 1, 2, 5, 8, 12, 20, 30, 30, 40, 40, 60, 60]) if draw.chance(0.5) else draw.random.randint(12, 40)
    )
    small = algorithm in SCHEMES or algorithm == "greedy"
    columns: list[Column] = []
    spec_columns: dict[str, Any] = {}
    values: dict[str, list[Cell]] = {}

    def add(kind: str, cells: list[Cell], role: dict[str, Any]) -> str:
        name = draw.names.pop()
        columns.append(Column(name, kind))
        values[name] = cells
        spec_columns[name] = role
        return name

    row_id = add("integer", [str(row) for row in range(size)], {"role": "insensitive"})
    for _ in range(draw.random.choice([1, 2, 2, 2, 3, 3] if small else [1, 2, 2, 3, 3, 4])):
        kind = draw.one(kinds(engine))
        domain = domain_of(draw, kind, draw.random.randint(1, 5 if small else 8))
        cells = column_of(draw, domain, size, 0.25)
        name = add(kind, cells, {"role": "quasi_identifier"})
        if draw.chance(0.9):
            spec_columns[name]["hierarchy"] = hierarchy_of(draw, kind, domain, name)
    quasi = [name for name, column in spec_columns.items() if column["role"] == "quasi_identifier"]

    privacy: dict[str, Any] = {}
    search: dict[str, Any] = {"algorithm": algorithm}
    spec: dict[str, Any] = {"columns": spec_columns, "privacy": privacy, "search": search}
    case = Case(seed, engine, Table(columns, []), spec, row_id, references=draw.references, files=draw.files)
    if algorithm in PERSONAL:
        personalize(draw, case, values, add, size)
    else:
        ask(draw, case, values, add, size, quasi)
    if draw.chance(0.5):
        add("text", column_of(draw, domain_of(draw, "text", 6), size, 0.1), {"role": "insensitive"})
    if engine == "duckdb" and draw.chance(0.08):
        huge = [str(170141183460469231731687303715884105000 + draw.random.randint(0, 700)) for _ in range(4)]
        add("hugeint", column_of(draw, huge, size, 0.1), {"role": "insensitive"})
    if draw.chance(0.3):
        add("text", [f"Identity{row:04d}" for row in range(size)], {"role": "identifier"})
    options(draw, case, quasi)
    place(draw, case)
    case.table.rows = [list(row) for row in zip(*(values[name] for name in values), strict=True)]
    domains(draw, case, quasi)
    order = list(spec_columns)
    if draw.chance(0.3):
        draw.random.shuffle(order)
        spec["columns"] = {name: spec_columns[name] for name in order}
    return case


def kinds(engine: str) -> list[str]:
    if engine == "sqlite":
        return ["text", "text", "text", "integer", "integer", "date"]
    return ["text", "text", "text", "integer", "integer", "date", "timestamp", "decimal", "double", "boolean"]


def domain_of(draw: Draw, kind: str, size: int) -> list[str]:
    """Distinct values of a column."""
    random = draw.random
    if kind == "text":
        shape = draw.one(["words", "words", "codes"])
        if shape == "words":
            return list(draw.some(WORDS, min(size, 1), size))
        codes = {"".join(random.choice("0123456789") for _ in range(random.choice([5, 5, 5, 3]))) for _ in range(size)}
        stem = f"{random.randint(10, 99)}"
        return sorted({stem + code[2:] if draw.chance(0.7) else code for code in codes})
    made: set[str] = set()
    for _ in range(size):
        if kind in ("integer", "bigint"):
            made.add(str(random.randint(-30, 90)))
        elif kind == "decimal":
            made.add(f"{random.randint(-500, 9000) / 100:.2f}")
        elif kind == "double":
            made.add(draw.one(["-0.0", "0.0", "0.5", "1.25", "-2.5", "3", "1000.125", "17", "42.75", "99.5"]))
        elif kind == "boolean":
            made.add(draw.one(["true", "false"]))
        else:
            day = datetime.date(1950, 1, 1) + datetime.timedelta(days=random.randint(0, 20000))
            clock = f" {random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}"
            made.add(day.isoformat() + (clock if kind == "timestamp" else ""))
    return sorted(made)


def column_of(draw: Draw, domain: list[str], size: int, nulls: float) -> list[Cell]:
    """Values of a column: some frequent, some rare, perhaps NULL among them."""
    options: list[Cell] = list(domain)
    if draw.chance(nulls):
        options.append(None)
    weights = [draw.random.choice([1, 3, 10]) for _ in options]
    return draw.random.choices(options, weights, k=size)


def hierarchy_of(draw: Draw, kind: str, domain: list[str], name: str) -> Any:
    """A hierarchy that fits a column."""
    longest = max(map(len, domain), default=0)
    builders = ["suppression"]
    if kind == "text":
        builders += ["tree", "csv", "table", "tree", "csv"]
        if 1 <= longest <= 12:
            builders += ["mask", "mask", "mask", "sql"]
    elif kind == "integer":
        builders += ["interval", "interval", "interval", "mask", "sql", "tree"]
    elif kind in ("decimal", "double") and draw.engine != "sqlite":
        builders += ["interval", "interval", "interval"]
    elif kind in ("date", "timestamp"):
        builders += ["date", "date", "date"]
    elif kind == "boolean":
        builders += ["tree"]
    builder = draw.one(builders)
    if builder == "mask":
        return mask_of(draw, max(longest, 1))
    if builder == "interval":
        return interval_of(draw, kind)
    if builder == "date":
        return date_of(draw, kind)
    if builder in ("tree", "csv", "table"):
        return listed_of(draw, builder, domain)
    if builder == "sql":
        return sql_of(draw, kind, name, longest)
    return "suppression" if draw.chance(0.6) else {"suppression": {"label": draw.one(["any", "**", "person"])}}


def mask_of(draw: Draw, longest: int) -> Any:
    length = longest + draw.one([0, 0, 0, 1])
    settings: dict[str, Any] = {"length": length}
    if draw.chance(0.6) or length > 5:
        settings["steps"] = sorted(draw.some(range(1, length + 1), 1, 3))
    if draw.chance(0.2):
        settings["side"] = "left"
    if draw.chance(0.2):
        settings["character"] = draw.one(["x", "#", "·"])
    if draw.chance(0.1):
        settings["top"] = draw.one([True, False])
    return {"mask": settings}


def interval_of(draw: Draw, kind: str) -> Any:
    if draw.chance(0.25):
        points = sorted(draw.some(range(-20, 90, 5), 2, 6))
        fewer = sorted(draw.some(points, 1, len(points)))
        return {"interval": {"cuts": draw.one([points, [points, fewer]])}}
    width = draw.one([2, 5, 10])
    settings: dict[str, Any] = {"widths": [width]}
    while draw.chance(0.5) and len(settings["widths"]) < 3:
        settings["widths"].append(settings["widths"][-1] * draw.one([2, 3]))
    if draw.chance(0.3):
        settings["min"] = draw.one([-30, 0, 3])
    if draw.chance(0.3):
        settings["max"] = draw.one([40, 77, 100])
    return {"interval": settings}


def date_of(draw: Draw, kind: str) -> Any:
    words = ["day", "month", "quarter", "year", "5 years", "10 years"]
    if kind == "timestamp":
        words.insert(0, "hour")
    chosen = [word for word in words if draw.chance(0.55)] or ["year"]
    if draw.chance(0.1) and draw.engine != "sqlite":
        chosen = ["week"]
    return {"date": [*chosen, "any"] if draw.chance(0.7) else chosen}


def listed_of(draw: Draw, builder: str, domain: list[str]) -> Any:
    """A tree over the values, and over some that do not occur, as tree, csv file or table."""
    leaves = [*domain, *draw.some(["Never", "Nowhere", "Nobody"], 0, 2)]
    if draw.chance(0.02) and len(leaves) > 1:
        leaves = leaves[1:]
    draw.random.shuffle(leaves)
    groups = [list(part) for part in chunks(draw, leaves)]
    labels = [f"group {place}" for place in range(len(groups))]
    uppers = [f"upper {place // 2}" for place in range(len(groups))]
    two = len(groups) > 1 and draw.chance(0.5)
    if builder == "tree":
        tree: dict[str, Any] = {}
        for label, upper, part in zip(labels, uppers, groups, strict=True):
            if two and not (draw.chance(0.1) and len(groups) > 2):
                tree.setdefault(upper, {})[label] = part
            else:
                tree[label] = part
        return {"tree": {"everything": tree} if draw.chance(0.3) else tree}
    rows = [
        [leaf, label, *([upper] if two else [])]
        for label, upper, part in zip(labels, uppers, groups, strict=True)
        for leaf in part
    ]
    if builder == "table":
        names = ["leaf", "label", "upper"][: len(rows[0])]
        key = f"{REFERENCE}{len(draw.references)}"
        draw.references[key] = Table([Column(name, "text") for name in names], [list(row) for row in rows])
        return {"table": {"name": key, "levels": names}}
    text = io.StringIO()
    delimiter = draw.one([";", ","])
    header = draw.chance(0.3)
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(([["leaf", "label", "upper"][: len(rows[0])]] if header else []) + rows)
    path = f"hierarchy_{len(draw.files)}.csv"
    draw.files[path] = text.getvalue()
    return {"csv": {"path": path, "delimiter": delimiter, **({"header": True} if header else {})}}


def chunks(draw: Draw, leaves: list[str]) -> list[list[str]]:
    parts: list[list[str]] = []
    rest = list(leaves)
    while rest:
        size = draw.random.randint(1, 3)
        parts.append(rest[:size])
        rest = rest[size:]
    return parts


def sql_of(draw: Draw, kind: str, name: str, longest: int) -> Any:
    quote = "`" if draw.engine == "spark" else '"'
    column = quote + name.replace(quote, quote * 2) + quote
    if kind == "text":
        steps = sorted(draw.some(range(1, max(2, longest)), 1, 2), reverse=True)
        return {"sql": [column, *(f"substr({column}, 1, {step})" for step in steps), "'*'"]}
    # Division rounds differently from engine to engine for numbers below 0: these are lifted above it first.
    steps = draw.one([[10], [10, 50], [20, 100]])
    remainder = "({0} + 1000) % {1}" if draw.engine == "sqlite" else "mod({0} + 1000, {1})"
    return {"sql": [column, *(f"{column} - " + remainder.format(column, step) for step in steps), "'*'"]}


def ask(draw: Draw, case: Case, values: dict[str, list[Cell]], add: Any, size: int, quasi: list[str]) -> None:
    """Requirements beside personalized privacy."""
    privacy, search = case.spec["privacy"], case.spec["search"]
    algorithm = search["algorithm"]
    cells = algorithm in CELLS
    full = algorithm in LATTICE
    privacy["k"] = draw.one([2, 3]) if algorithm == "matching" else draw.one([2, 2, 3, 3, 4, 5])
    if draw.chance(0.7):
        limit = draw.one([1, 2, 3, 5, "5%", "10%", "20%", "33.3%", "40%"])
        mode = "blank" if draw.chance(0.3) and algorithm != "mu_argus" else "drop"
        privacy["suppression"] = {"limit": limit, "mode": mode} if draw.chance(0.9) else {"limit": limit}
    if cells:
        search["model"] = draw.one(["AG_CS", "CG_", "CG_", "_CS"])
        if algorithm == "fitting" or draw.chance(0.3):
            privacy["anonymity"] = draw.one(["(1,k)", "(k,1)", "(k,k)", "global (1,k)"])
        if search["model"] != "AG_CS":
            privacy.pop("suppression", None)
        if draw.chance(0.5):
            add("text", column_of(draw, domain_of(draw, "text", 4), size, 0.1), {"role": "sensitive"})
        return
    if draw.chance(0.25):
        people = [f"Person{draw.random.randint(1, max(1, size * 2)):03d}" for _ in range(size)]
        case.spec["respondent"] = add("text", people, {"role": "identifier"})
    sensitive = []
    for _ in range(draw.random.choice([0, 1, 1, 1, 2])):
        kind = draw.one(["text", "text", "integer", "date"])
        domain = domain_of(draw, kind, draw.random.randint(2, 5))
        name = add(kind, column_of(draw, domain, size, 0.15), {"role": "sensitive"})
        sensitive.append(name)
        if kind == "text" and draw.chance(0.5):
            case.spec["columns"][name]["hierarchy"] = listed_of(draw, draw.one(["tree", "csv"]), domain)
    for name in sensitive:
        for model in draw.some(MODELS, 0, 2):
            if entry := model_of(draw, case, model, name, values[name]):
                privacy.setdefault(model, []).append(entry)
    if draw.chance(0.1) and any(model in privacy for model in MODELS):
        del privacy["k"]
    blank = privacy.get("suppression", {}).get("mode") == "blank"
    if full and not blank and len(quasi) > 1 and draw.chance(0.15) and "k" in privacy:
        first = draw.some(quasi, 1, len(quasi))
        second = sorted({*draw.some(quasi, 1, len(quasi)), *(name for name in quasi if name not in first)})
        privacy["quasi_identifiers"] = {"one": {"columns": first}, "two": {"columns": second, "k": draw.one([2, 3])}}
    if full and not blank and len(sensitive) == 2 and draw.chance(0.2):
        privacy["other_sensitive"] = "known"
    plain = "population" not in privacy and "quasi_identifiers" not in privacy and not blank
    if full and plain and "k" in privacy and draw.chance(0.1):
        for name in quasi:
            case.spec["columns"][name]["anonymity"] = draw.one([0, 0.05, 0.1, 0.2, 0.5])
        if draw.chance(0.7):
            privacy["profile"] = {name: draw.one([0, 0.25, 0.5, 1, 1]) for name in quasi}
            if not any(privacy["profile"][name] == 1 and case.spec["columns"][name]["anonymity"] for name in quasi):
                del privacy["k"]
    if algorithm in SCHEMES and size >= 8 and draw.chance(0.4):
        poison(draw, case, values, add, size, quasi)
    if full and draw.chance(0.12) and size and "anonymity" not in case.spec["columns"][quasi[0]]:
        populate(draw, case, values, quasi, size)


def model_of(draw: Draw, case: Case, model: str, name: str, values: list[Cell]) -> dict[str, Any] | None:
    """One entry of a model for a sensitive column, seldom too strict to be met."""
    kind = case.table.kind(name)
    entry: dict[str, Any] = {"column": name}
    if model == "l_diversity":
        entry |= {"l": draw.one([1, 2, 2, 2, 3]), "kind": draw.one(["distinct", "distinct", "entropy", "recursive"])}
        if entry["kind"] == "recursive":
            entry["c"] = draw.one([0.5, 1, 2, 2.5, 3])
    elif model == "t_closeness":
        entry["t"] = draw.one([0.15, 0.25, 0.3, 0.4, 0.5, 0.6])
        options = ["equal", "ordered"]
        if "hierarchy" in case.spec["columns"][name]:
            options += ["hierarchical", "hierarchical"]
        entry["distance"] = draw.one(options)
        if entry["distance"] == "ordered" and kind == "text":
            entry["order"] = draw.random.sample(sorted({v for v in values if v is not None}), len({*values} - {None}))
            if not entry["order"]:
                return None
    elif model == "alpha":
        known = sorted({value for value in values if value is not None})
        if not known:
            return None
        entry |= {"value": draw.one(known), "alpha": draw.one([0.4, 0.5, 0.6, 0.75])}
    elif model == "p_sensitive":
        entry["p"] = draw.one([1, 2, 2, 3])
    elif model == "beta_likeness":
        entry |= {"beta": draw.one([0.5, 1, 2, 3]), "kind": draw.one(["basic", "basic", "enhanced"])}
    elif model == "delta_disclosure":
        entry |= {"delta": draw.one([0.5, 0.9, 1.2, 2]), "kind": draw.one(["occurring", "occurring", "all"])}
    else:
        raise ValueError(f"{model} is in MODELS and has no numbers here")
    return entry


def poison(draw: Draw, case: Case, values: dict[str, list[Cell]], add: Any, size: int, quasi: list[str]) -> None:
    """Rows that no class may hold, with values that nobody else has: what is released must not tell of them."""
    privacy = case.spec["privacy"]
    rows = draw.random.sample(range(size), draw.random.randint(1, 2))
    for name in quasi:
        options = sorted({value for value in values[name] if value is not None})
        if len(options) < 2:
            continue
        rare, *others = draw.random.sample(options, len(options))
        for row in range(size):
            if row in rows:
                values[name][row] = rare
            elif values[name][row] == rare:
                values[name][row] = draw.one(others)
    cells: list[Cell] = ["harmful" if row in rows else draw.one(["flu", "gout"]) for row in range(size)]
    name = add("text", cells, {"role": "sensitive"})
    privacy.setdefault("alpha", []).append({"column": name, "value": "harmful", "alpha": 0.01})
    privacy["suppression"] = {"limit": draw.one([2, 3, 5]), "mode": "drop"}
    case.spec["search"]["metric"] = "dm"


def populate(draw: Draw, case: Case, values: dict[str, list[Cell]], quasi: list[str], size: int) -> None:
    """Everybody who could be in the table: its own rows, and others of the same domains."""
    privacy = case.spec["privacy"]
    rows = [[values[name][row] for name in quasi] for row in range(size)]
    rows += [[draw.one(values[name]) for name in quasi] for _ in range(draw.random.randint(0, 2 * size))]
    renamed = {name: f"his {place}" for place, name in enumerate(quasi) if draw.chance(0.3)}
    case.population = Table([Column(renamed.get(name, name), case.table.kind(name)) for name in quasi], rows)
    privacy["population"] = {"source": POPULATION, **({"columns": renamed} if renamed else {})}
    if draw.chance(0.6):
        privacy["k_map"] = draw.one([2, 3, 5])
    if "k_map" not in privacy or draw.chance(0.3):
        presence: dict[str, Any] = {"max": draw.one([0.6, 0.8, 0.9, 1])}
        if "suppression" not in privacy and draw.chance(0.3):
            presence["min"] = draw.one([0.1, 0.25])
        privacy["delta_presence"] = presence


def personalize(draw: Draw, case: Case, values: dict[str, list[Cell]], add: Any, size: int) -> None:
    """Personalized privacy: a taxonomy, and a guarding node for each row."""
    leaves = list(draw.some([word for word in WORDS if word.strip()], 3, 7))
    groups = chunks(draw, leaves)
    tree = {f"kind {place}": part for place, part in enumerate(groups)}
    parent = {leaf: label for label, part in tree.items() for leaf in part}
    cells = column_of(draw, leaves, size, 0)
    guards: list[Cell] = []
    for cell in cells:
        options: list[Cell] = [None, None, cell, parent[str(cell)]]
        guards.append(draw.one(options))
    name = add("text", cells, {"role": "sensitive"})
    guard = add("text", guards, {"role": "identifier"})
    personal: dict[str, Any] = {"column": name, "guarding": guard, "p_breach": draw.one([0.34, 0.5, 0.6, 0.75])}
    if draw.chance(0.5):
        personal["taxonomy"] = {"tree": tree}
    else:
        case.spec["columns"][name]["hierarchy"] = {"tree": tree}
    if draw.chance(0.3):
        personal["weight"] = draw.one([2, 10, "infinity"])
    if draw.chance(0.25):
        people = [f"Person{draw.random.randint(1, max(1, size * 2)):03d}" for _ in range(size)]
        case.spec["respondent"] = add("text", people, {"role": "identifier"})
        personal["primary"] = False
    case.spec["privacy"]["personalized"] = personal


def domains(draw: Draw, case: Case, quasi: list[str]) -> None:
    """What losses are measured against. Of ranges that are too long to be listed, the values that occur."""
    flat = case.spec["search"].get("model") in ("_TS", "_AS", "_CS")
    for name in quasi:
        column, kind = case.spec["columns"][name], case.table.kind(name)
        values = sorted_values(case, name, kind)
        definition = column.get("hierarchy", "suppression")
        builder = definition if isinstance(definition, str) else next(iter(definition))
        if kind not in (*NUMBERS, *DATES) or (builder not in ("interval", "date", "suppression") and not flat):
            continue
        narrow = bool(values) and values[-1] - values[0] < MOST_LISTED
        if not narrow or draw.chance(0.3):
            column["domain"] = "occurring"
        elif case.population is None and not flat and draw.chance(0.3):
            low, high = values[0] - draw.one([0, 1, 7]), values[-1] + draw.one([0, 2])
            whole = kind in WHOLE
            column["domain"] = {"min": low if whole else day_of(low), "max": high if whole else day_of(high)}


MOST_LISTED = 3000


def sorted_values(case: Case, name: str, kind: str) -> list[int]:
    """The values of a column as whole numbers, where they all are whole numbers or days."""
    elsewhere = [] if case.population is None else population_values(case, name)
    values = [value for value in (*case.table.values(name), *elsewhere) if value is not None]
    try:
        if kind in WHOLE:
            return sorted(int(value) for value in values)
        return sorted(datetime.date.fromisoformat(value).toordinal() for value in values) if kind == "date" else []
    except ValueError:
        return []


def day_of(number: int) -> str:
    return datetime.date.fromordinal(number).isoformat()


def options(draw: Draw, case: Case, quasi: list[str]) -> None:
    """Keys of the search: metric, weights, levels, constraints, budgets and what single algorithms take."""
    search, columns = case.spec["search"], case.spec["columns"]
    algorithm = search["algorithm"]
    lattice = algorithm in (*LATTICE, "local", "mu_argus")
    if algorithm in LATTICE and draw.chance(0.1) and "quasi_identifiers" not in case.spec["privacy"]:
        search["model"] = draw.one(["AG_TS", "AG_", "_TS", "_AS"])
        if search["model"] in ("AG_", "_AS"):
            case.spec["privacy"].pop("suppression", None)
    if lattice and draw.chance(0.6):
        search["metric"] = draw.one(METRICS if algorithm != "mu_argus" else ("loss", "dm", "hdm", "aecs"))
    if algorithm == "mu_argus":
        if draw.chance(0.6):
            for name, tag in zip(quasi, draw.random.choices([0, 1, 2, 2, 3, 3], k=len(quasi)), strict=True):
                columns[name]["tag"] = tag
        if draw.chance(0.5):
            search["mu_argus"] = {"binsize": draw.one([1, 2, 3])}
            case.spec["privacy"]["k"] = draw.one([1, 2])
    if algorithm in SCHEMES:
        search.setdefault("metric", draw.one(["dm", "hdm"]))
        if draw.chance(0.2):
            search["direction"] = draw.one(["auto", "bottom_up", "top_down"])
        if draw.chance(0.15) and algorithm not in ("tds", "bottom_up", "genetic", "annealing"):
            columns[draw.one(quasi)]["scheme"] = draw.one(["bhs", "ghs", "gops", "gsps", "ops", "sps"])
    if lattice and draw.chance(0.25 if algorithm != "mu_argus" else 0.03):
        search["prefer"] = draw.some(PREFERENCES, 1, 2)
    if algorithm not in CELLS and draw.chance(0.2):
        for name in draw.some(quasi, 1, 2):
            columns[name]["weight"] = draw.one([0.5, 2, 3])
    strange = draw.chance(0.05)
    flat = search.get("model") in ("_TS", "_AS", "_CS")
    least = lattice or strange or algorithm in ("mondrian", *PERSONAL, *SCHEMES, *CELLS)
    if draw.chance(0.25) and not flat and least:
        for name in draw.some(quasi, 1, 2):
            columns[name]["levels"] = {"min": 1}
            if lattice and draw.chance(0.3):
                columns[name]["levels"] = draw.one([{"max": 1}, {"min": 1, "max": 1}, {"min": 0, "max": 1}])
    if len(quasi) > 1 and (draw.chance(0.12) if lattice else strange or draw.chance(0.04)) and not flat:
        first, second = draw.random.sample(quasi, 2)
        search["constraints"] = draw.one(
            [{"before": [[first, second]]}, {"forbidden": [{first: 0, second: 1}]}, {"forbidden": [{first: 0}]}]
        )
    if draw.chance(0.05):
        search["budget"] = draw.one([{"nodes": 3}, {"nodes": 50}, {"seconds": 20}])
    if algorithm in ("exact", "fitting"):
        search["budget"] = {"nodes": 100}
    if algorithm == "mondrian" and draw.chance(0.7):
        search["mondrian"] = {
            "kind": draw.one(["strict", "strict", "relaxed"]) if "respondent" not in case.spec else "strict",
            "cuts": draw.one(["guided", "ordered"]),
            "bounds": draw.one(["space", "values"]),
        }
    if algorithm == "local" and draw.chance(0.5):
        search["local"] = {"algorithm": draw.one(["optimal", "samarati", "incognito", "datafly", "exhaustive"])}
        if draw.chance(0.5):
            search["local"]["leave"] = draw.one(["30%", "50%", 5])
    if algorithm in ("genetic", "annealing") and draw.chance(0.5):
        search["seed"] = draw.random.randint(0, 9)


def place(draw: Draw, case: Case) -> None:
    """Where the case reads from and writes to."""
    if draw.engine != "spark":
        source, target, people = draw.random.sample(TABLES, 3)
        if draw.chance(0.5):
            case.names = {"source": source, "target": target, "population": people}
    privacy, search = case.spec["privacy"], case.spec["search"]
    targets = ["table"] * 6
    if draw.engine == "duckdb":
        targets += ["csv", "parquet"]
        # A parquet file has no numbers of 128 bits: they would be others before anything is released.
        if draw.chance(0.15) and not any(column.kind == "hugeint" for column in case.table.columns):
            case.source = "parquet"
    blank = privacy.get("suppression", {}).get("mode") == "blank"
    levels = any("anonymity" in column for column in case.spec["columns"].values())
    plain = not ({"quasi_identifiers", "other_sensitive", "personalized"} & set(privacy)) and not blank and not levels
    ordered = any("order" in entry for entry in privacy.get("t_closeness", []))
    if search["algorithm"] in LATTICE and plain and not ordered:
        targets.append("view")
    case.target = draw.one(targets)
