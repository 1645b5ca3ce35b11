"""What is wrong with the outcome of a case: findings, each of a kind and with the reason.

A release that was published is held against its spec row by row; a refusal against brute force.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.fuzz import labels as reading
from tests.fuzz import partitions
from tests.fuzz.case import Case, Cell
from tests.fuzz.generate import CELLS, LATTICE, PERSONAL, SCHEMES
from tests.fuzz.ladders import Ladder, Uncovered, build, ladders_of
from tests.fuzz.lattice import LARGEST, Lattice
from tests.fuzz.models import Population, Requirement, classes_of
from tests.fuzz.release import Outcome

COMPLETE = ("optimal", "samarati", "minimal", "incognito", "exhaustive")
ORDERED_LABELS = ("mondrian", *PERSONAL, *SCHEMES)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    kind: str
    detail: str


def findings(case: Case, outcome: Outcome) -> list[Finding]:
    """Everything that is wrong with an outcome; nothing, as a rule."""
    return list(dict.fromkeys(_findings(case, outcome)))


def _findings(case: Case, outcome: Outcome) -> Iterator[Finding]:
    if outcome.code is None:
        yield Finding("hang", "the command did not end in time")
        return
    if outcome.leftovers:
        yield Finding("scratch", f"{len(outcome.leftovers)} scratch objects are left")
    if outcome.code == 0:
        yield from Checked(case, outcome).findings()
    else:
        yield from refused(case, outcome)


def refused(case: Case, outcome: Outcome) -> Iterator[Finding]:
    """A command that failed: how it says so, and whether it is right."""
    text = outcome.err.strip()
    if outcome.code == 1 and "failed its audit" in text:
        yield Finding("failed audit", f"what was planned does not pass the release's own audit: {text[:200]}")
    elif outcome.code == 1 and case.algorithm == "mu_argus" and "failed the audit over all columns" in text:
        # mu-Argus looks at three columns at a time: what it finds may not be enough for all of them.
        if tests_everything(case):
            yield Finding("mu-Argus", "failed the audit, though it tests all columns together and may blank no cell")
    elif outcome.code not in (2, 3, 4):
        yield Finding("exit code", f"exit code {outcome.code}: {text[:200]}")
    if "Traceback" in text:
        yield Finding("traceback", text[:200])
    if "internal error" in text:
        yield Finding("internal error", text[:200])
    elif outcome.code == 4:
        yield Finding("engine failed", text[:200])
    if not text or any(not line.startswith("sqlanon: ") for line in text.splitlines()):
        yield Finding("message", "an error is told by lines that begin with `sqlanon: `")
    if outcome.code != 2 and len(text.splitlines()) > 1:
        yield Finding("message", "an error beside those of a spec is one line")
    if shown := told_values(case, text):
        yield Finding("value in message", f"the message shows {len(shown)} values of the table")
    if outcome.code == 3:
        yield from wrongly_infeasible(case)


def tests_everything(case: Case) -> bool:
    """Whether mu-Argus tests what the audit asks: all columns at once, and no cell is blanked."""
    columns = [column for column in case.spec["columns"].values() if column["role"] == "quasi_identifier"]
    tags = [column.get("tag") for column in columns]
    crossed = tags[0] is None or (0 not in tags and len(set(tags)) == len(tags))
    own = case.spec["search"].get("mu_argus", {}).get("binsize")
    same = own is None or own >= case.spec["privacy"].get("k", 1)
    return len(columns) <= 3 and crossed and same and Requirement(case).limit == 0


def told_values(case: Case, text: str) -> set[str]:
    """Values of the table, distinctive ones, that a message shows and that do not stand in the spec."""
    spec = json.dumps(case.spec, ensure_ascii=False) + json.dumps(case.names, ensure_ascii=False)
    spec = spec.replace("\\\\", "\\")
    values = {cell for row in case.table.rows for cell in row if cell is not None and len(cell.strip()) >= 5}
    return {cell for cell in values if cell in text and cell not in spec}


def wrongly_infeasible(case: Case) -> Iterator[Finding]:
    """A refusal of a complete search that had no budget, though something can be released."""
    search = case.spec.get("search", {})
    if "budget" in search or not case.table.rows or case.algorithm in (*PERSONAL, *CELLS, "datafly", "mu_argus"):
        return
    try:
        ladders = ladders_of(case)
    except Uncovered:
        return
    requirement = Requirement(case)
    lattice = Lattice(case, ladders, requirement)
    # Where every row may be suppressed, a search may prefer a node that leaves nothing to release.
    infeasible = "keeps nothing" if requirement.limit >= lattice.rows else "infeasible"
    if case.algorithm in COMPLETE:
        if lattice.size <= LARGEST and lattice.feasible:
            yield Finding(infeasible, f"refused as infeasible, but {lattice.feasible[0]} is acceptable")
        return
    tops = {name: ladder.height for name, ladder in ladders.items()}
    if any("max" in case.spec["columns"][name].get("levels", {}) for name in tops) or "constraints" in search:
        return
    if lattice.kept(tuple(tops.values())) == frozenset(range(lattice.rows)):
        yield Finding(infeasible, "refused as infeasible, but all rows together are a class")


class Checked:
    """A release beside its source."""

    def __init__(self, case: Case, outcome: Outcome) -> None:
        assert outcome.release is not None
        self.case, self.release, self.outcome = case, outcome.release, outcome
        self.told: dict[str, Any] = outcome.told
        self.requirement = Requirement(case)
        self.columns = self.requirement.columns
        self.search = case.spec.get("search", {})

    def findings(self) -> Iterator[Finding]:
        try:
            self.ladders = ladders_of(self.case)
        except Uncovered:
            yield Finding("uncovered", "a value that its hierarchy does not cover was released")
            return
        self.lattice = Lattice(self.case, self.ladders, self.requirement)
        wrong = list(self.shape())
        yield from wrong
        if wrong:
            return
        if not self.case.table.rows:
            yield Finding("empty", "an empty table was released")
            return
        yield from self.untouched()
        blank = {row for row, own in self.labels.items() if self.is_blank(own)}
        yield from self.suppression(blank)
        if self.case.algorithm in LATTICE and not self.search.get("model", "").endswith("_CS"):
            yield from self.full_domain(blank)
        elif self.case.algorithm == "mu_argus":
            yield from self.combinations()
        elif self.case.algorithm in ("local", *CELLS):
            yield from self.cells(blank)
        else:
            # Where no row may be suppressed, what looks blank was generalized to it: `suppression` sees to that.
            yield from self.regions(blank if self.case.algorithm in SCHEMES else set())
            if self.case.algorithm in partitions.SCHEMES and self.told.get("proven"):
                yield from self.scheme_optimality()
        yield from self.classes()
        if self.outcome.audit not in (None, 0):
            yield Finding("audit", f"the tool's own audit of the file ends with exit code {self.outcome.audit}")

    def shape(self) -> Iterator[Finding]:
        """Released columns are those of the spec, released rows are rows of the source, each once."""
        spec = self.case.spec["columns"]
        expected = [name for name, column in spec.items() if column["role"] != "identifier"]
        got = self.release.columns
        if sorted(expected) != sorted(got):
            hidden = [name for name in got if spec.get(name, {}).get("role") == "identifier"]
            yield Finding("columns", f"released {len(got)} columns for {len(expected)}; identifiers: {len(hidden)}")
            return
        place = got.index(self.case.row_id)
        ids = [row[place] for row in self.release.rows]
        known = {str(value): row for row, value in enumerate(self.requirement.values[self.case.row_id])}
        if any(one not in known for one in ids):
            yield Finding("rows", "a released row is no row of the source")
            return
        if len(set(ids)) != len(ids):
            yield Finding("rows", "a row was released twice")
            return
        self.rows = {known[str(row[place])]: dict(zip(got, row, strict=True)) for row in self.release.rows}
        self.labels: dict[int, dict[str, Cell]] = {
            row: {name: own[name] for name in self.columns} for row, own in self.rows.items()
        }
        if not self.rows:
            yield Finding("rows", "a release without rows")

    def untouched(self) -> Iterator[Finding]:
        """Sensitive and insensitive values are those of the row."""
        personal = self.case.spec["privacy"].get("personalized", {}).get("column")
        for name, column in self.case.spec["columns"].items():
            if column["role"] not in ("sensitive", "insensitive") or name == personal:
                continue
            values = self.requirement.values[name]
            wrong = sum(1 for row, own in self.rows.items() if own[name] != values[row])
            if wrong:
                empty = all(
                    {own[name], values[row]} <= {"", None} for row, own in self.rows.items() if own[name] != values[row]
                )
                kind = "empty or null" if empty else "huge" if self.case.table.kind(name) == "hugeint" else "changed"
                yield Finding(kind, f"{column['role']} values of {wrong} rows differ ({self.case.table.kind(name)})")

    def is_blank(self, own: Mapping[str, Cell]) -> bool:
        """Whether labels are those of a row that was blanked: `*` where a column takes text, else NULL."""
        blank = self.case.spec["privacy"].get("suppression", {}).get("mode") == "blank"
        return blank and all(label in (None, "*") for label in own.values())

    def by_nature(self, row: int) -> bool:
        """Whether a row that looks blank is one that was generalized to it."""
        own = self.labels[row]
        values = {name: self.requirement.values[name][row] for name in self.columns}
        if "levels" in self.told and self.case.algorithm in LATTICE:
            levels = self.told["levels"]
            return all(own[name] == self.ladders[name].label(values[name], levels[name]) for name in self.columns)
        # Cells may be suppressed one by one, whatever the top of their hierarchy is called.
        cells = self.case.algorithm in CELLS
        return all(
            self.ladders[name].levels_of(values[name], own[name]) or (cells and own[name] == "*")
            for name in self.columns
        )

    def suppression(self, blank: set[int]) -> Iterator[Finding]:
        """Missing rows and blank ones are within the limit."""
        nature = {row for row in blank if self.by_nature(row)}
        gone = len(self.case.table.rows) - len(self.rows) + len(blank - nature)
        none = ("mondrian", "mu_argus", *PERSONAL)
        limit = 0 if self.case.algorithm in none else self.requirement.limit
        if self.case.algorithm in CELLS:
            limit = 0
        if gone > limit:
            yield Finding("limit", f"{gone} rows are suppressed, the limit is {limit}")

    def classes(self) -> Iterator[Finding]:
        """Every class of the release satisfies every model."""
        personal = self.case.spec["privacy"].get("personalized")
        if personal is not None:
            yield from self.breaches(personal)
            return
        if self.case.spec["privacy"].get("anonymity", "classic") != "classic":
            yield from self.fits()
            return
        people = None
        if self.case.population is not None and "levels" in self.told:
            people = Population(self.case, self.ladders, self.told["levels"], released=True)
        failed = self.requirement.failing(self.labels, people)
        if failed:
            yield Finding("class", f"{len(failed)} released rows are in classes that fail the requirement")

    def full_domain(self, blank: set[int]) -> Iterator[Finding]:
        """One level a column; exactly the rows of passing classes; the best node, where that is claimed."""
        levels = self.told["levels"]
        node = tuple(levels[name] for name in self.lattice.columns)
        if not self.lattice.allowed(node):
            yield Finding("levels", f"the node {node} is not allowed by levels and constraints")
        truth = self.lattice.labels(node)
        wrong = Counter(
            name
            for row, own in self.labels.items()
            for name in self.columns
            if row not in blank and own[name] != truth[row][name]
        )
        for name, count in wrong.items():
            ladder = self.ladders[name]
            detail = f"{count} labels at level {levels[name]} of {ladder.height} ({ladder.builder} of {ladder.kind})"
            empty = all(
                {own[name], truth[row][name]} <= {"", None}
                for row, own in self.labels.items()
                if own[name] != truth[row][name]
            )
            yield Finding("empty or null" if empty else "label", detail)
        kept = self.lattice.kept(node)
        nature = {row for row in blank if self.by_nature(row)}
        shown = set(self.labels) - blank
        if not (shown <= kept and kept <= set(self.labels) and kept - shown <= nature):
            yield Finding("kept", f"{len(kept)} rows satisfy the requirement, {len(shown)} are released")
        if self.told["suppressed"] != self.lattice.rows - len(kept):
            yield Finding("told", f"suppressed {self.told['suppressed']}, truly {self.lattice.rows - len(kept)}")
        if self.told.get("proven") and self.lattice.size <= LARGEST:
            yield from self.optimality(node)

    def optimality(self, node: tuple[int, ...]) -> Iterator[Finding]:
        feasible = self.lattice.feasible
        if node not in feasible:
            yield Finding("optimum", f"{node} is not acceptable")
            return
        algorithm = self.case.algorithm
        everything = self.requirement.limit >= self.lattice.rows
        if algorithm == "samarati" and sum(node) > (least := min(map(sum, feasible))):
            yield Finding("optimum", f"height {sum(node)}, though {least} suffices")
        if algorithm in ("minimal", "incognito", "exhaustive") and self.told.get("minimal_complete"):
            told = {tuple(one) for one in self.told["minimal"]}
            if told != self.lattice.minimal:
                yield Finding(
                    "keeps nothing" if everything else "minimal",
                    f"told {sorted(told)}, truly {sorted(self.lattice.minimal)}",
                )
        if algorithm in ("exhaustive", "incognito") and "acceptable_nodes" in self.told:
            listed = {tuple(one) for one in self.told["acceptable_nodes"]}
            if listed != set(feasible) and len(listed) == self.told.get("acceptable", len(listed)):
                yield Finding(
                    "keeps nothing" if everything else "acceptable", f"told {len(listed)} nodes, truly {len(feasible)}"
                )
        if algorithm in ("optimal", "exhaustive"):
            metric = self.search.get("metric", "loss")
            own = self.lattice.score(node, metric)
            told_score = self.told["score"][metric]
            if not near(own, told_score):
                yield Finding("score", f"{metric} of {node}: told {told_score}, truly {own}")
                return
            best = min(feasible, key=lambda one: self.lattice.score(one, metric))
            if self.lattice.score(best, metric) < own and not near(self.lattice.score(best, metric), own):
                yield Finding("optimum", f"{metric}: {best} is better than {node}")

    def scheme_optimality(self) -> Iterator[Finding]:
        """A proven optimum of a scheme against every generalization of a small space."""
        metric = self.search["metric"]
        try:
            least = partitions.best(self.case, self.ladders, self.requirement, metric)
        except partitions.TooMany:
            return
        told = self.told["score"][metric]
        if least is None or (told > least and not near(told, least)):
            single = any(
                len({self.ladders[name].label(value, self.lattice.bounds(name)[0]) for value in own} - {None}) == 1
                and None in own
                for name, own in ((name, set(self.requirement.values[name])) for name in self.columns)
            )
            kind = "one value and null" if single else "optimum"
            yield Finding(kind, f"{metric}: {told}, though {least} can be reached")
        elif told < least and not near(told, least):
            yield Finding("score", f"{metric}: told {told}, though no generalization costs less than {least}")

    def cells(self, blank: set[int]) -> Iterator[Finding]:
        """Labels of the hierarchy, of any allowed level, each row for itself."""
        model = self.search.get("model", "CG_" if self.case.algorithm in CELLS else None)
        for row, own in self.labels.items():
            if row in blank:
                continue
            options = []
            for name in self.columns:
                ladder, value = self.ladders[name], self.requirement.values[name][row]
                low, high = self.lattice.bounds(name)
                found = [level for level in ladder.levels_of(value, own[name]) if low <= level <= high]
                if model is not None and own[name] in ("*", ladder.top):
                    # A suppressed cell of AG_CS says nothing of its column's level, which constraints are about.
                    found += [*range(low, high + 1), ladder.height] if model == "AG_CS" else [ladder.height]
                if not found:
                    wrong = ladder.levels_of(value, own[name])
                    kind = "levels" if wrong else "label"
                    if {own[name], value} <= {"", None}:
                        kind = "empty or null"
                    yield Finding(kind, f"no allowed level of the row's value ({ladder.builder} of {ladder.kind})")
                    return
                options.append(sorted(set(found)))
            if "constraints" in self.search and not self.any_allowed(options):
                yield Finding("constraints", "the levels of a row are none that the constraints allow")
                return

    def combinations(self) -> Iterator[Finding]:
        """mu-Argus: labels of one level a column or `*`; few rows lose cells; what is shown together is not rare."""
        details = self.told["recoding"]["details"]
        node = tuple(details["levels"][name] for name in self.columns)
        if not self.lattice.allowed(node):
            yield Finding("levels", f"the node {node} is not allowed by levels and constraints")
        truth = self.lattice.labels(node)
        cells = [
            (row, name, own[name] == truth[row][name]) for row, own in self.labels.items() for name in self.columns
        ]
        if wrong := sum(not same and self.labels[row][name] != "*" for row, name, same in cells):
            yield Finding("label", f"{wrong} cells show neither the label of the node {node} nor `*`")
        blank = {(row, name) for row, name, same in cells if not same}
        if len({row for row, _ in blank}) > self.requirement.limit:
            yield Finding("limit", f"{len(blank)} cells of more rows are blank than the limit allows")
        if any(self.labels[row][name] == "*" for row, name, same in cells if same):
            # A label of its own that looks like a blank cell: who lost one cannot be told from outside.
            return
        told = (details["rows_blanked"], details["cells_blanked"])
        if told != (len({row for row, _ in blank}), len(blank)):
            yield Finding("told", f"{told[1]} cells of {told[0]} rows are told to be blank, truly {len(blank)}")
        tags = {name: self.case.spec["columns"][name].get("tag") for name in self.columns}
        for size in (1, 2, 3):
            for names in itertools.combinations(self.columns, size):
                own = [tags[name] for name in names]
                if None not in own and (0 in own or len(set(own)) < size):
                    continue
                shown = {
                    row: one for row, one in self.labels.items() if not any((row, name) in blank for name in names)
                }
                yield from self.rare(names, shown)

    def rare(self, names: tuple[str, ...], shown: Mapping[int, Mapping[str, Cell]]) -> Iterator[Finding]:
        sensitive = self.case.columns_of("sensitive")
        binsize = self.search.get("mu_argus", {}).get("binsize", self.case.spec["privacy"].get("k"))
        for members in classes_of(shown, list(names)).values():
            if not self.requirement.passes(members, binsize, sensitive, None):
                yield Finding("mu-Argus", f"{len(members)} rows show a combination of {len(names)} columns that fails")

    def any_allowed(self, options: list[list[int]]) -> bool:
        return any(self.lattice.allowed(node) for node in itertools.product(*options))

    def regions(self, blank: set[int]) -> Iterator[Finding]:
        """Ranges, sets and labels: each covers the value of its row, is as coarse as the spec asks, and tells nothing
        of rows that are not released."""
        if "constraints" in self.search:
            yield Finding("constraints", "the constraints were not refused, and labels of regions know no levels")
        values = self.requirement.values
        for name in self.columns:
            ladder = self.ladders[name]
            released = {values[name][row] for row in self.labels if row not in blank}
            hidden = {value for value in values[name] if value not in released and value is not None}
            pairs = {(values[name][row], own[name]) for row, own in self.labels.items() if row not in blank}
            for value, label in pairs:
                readings = reading.read(label, value, ladder)
                if not readings:
                    kind = "empty or null" if {label, value} <= {"", None} else "label"
                    yield Finding(kind, f"a label does not cover its value ({ladder.builder} of {ladder.kind})")
                    continue
                yield from self.fine(name, ladder, value, readings)
                if all(self.tells(one, hidden, ladder) for one in readings):
                    yield Finding("suppressed value", f"a label tells a value of suppressed rows only ({ladder.kind})")

    def fine(self, name: str, ladder: Ladder, value: Cell, readings: list[reading.Reading]) -> Iterator[Finding]:
        """Whether a label is finer than `levels.min`, or coarser than `levels.max`, in every reading."""
        low, high = self.lattice.bounds(name)
        if low == 0 and high == ladder.height:
            return
        domain = set(ladder.leaves)
        nodes = {ladder.label(leaf, low) for leaf in domain if leaf is not None}

        def allowed(one: reading.Reading) -> bool:
            if one.ends is not None:
                return self.on_bounds(one.ends, ladder, nodes, low)
            if any(low <= level <= high for level in one.levels):
                return True
            return bool(one.named) and all(coarse(part) for part in one.named)

        def coarse(part: str) -> bool:
            """A label of an allowed level, NULL, or a range that ends at bounds of such labels, within a set."""
            labels = (ladder.label(leaf, level) for leaf in domain for level in range(low, ladder.height + 1))
            ends = reading.range_of(part, ladder.kind)
            return part == "NULL" or part in labels or (ends is not None and self.on_bounds(ends, ladder, nodes, low))

        if value is None and low < ladder.height:
            return
        if not any(allowed(one) for one in readings):
            kind = "range ends" if all(one.ends is not None for one in readings) else "levels"
            yield Finding(kind, f"a label is finer than level {low} ({ladder.builder} of {ladder.kind})")

    @staticmethod
    def on_bounds(ends: tuple[str | None, str | None], ladder: Ladder, nodes: set[Cell], low: int) -> bool:
        """Whether both ends of a range lie on bounds of labels at the lowest allowed level."""
        if set(ends) <= nodes:
            return True
        begins, finishes = set(), set()
        for node in nodes:
            span = reading.bounds_of(node, ladder.kind)
            if span is not None:
                begins.add(span[0])
                finishes.add(span[1])
                if ladder.kind == "integer" and span[1] is not None and span[1] != span[0]:
                    finishes.add(span[1] - 1)
        first, second = (None if end is None else reading.point(end, ladder.kind) for end in ends)
        begun = (None if first is None else first[0]) in begins
        return begun and (None in finishes if second is None else not finishes.isdisjoint(second))

    @staticmethod
    def tells(one: reading.Reading, hidden: set[str], ladder: Ladder) -> bool:
        """Whether a label spells a value that only suppressed rows have."""
        named = [*one.named, *(end for end in one.ends or () if end is not None)]
        return any(part in hidden for part in named) and ladder.height not in one.levels

    def fits(self) -> Iterator[Finding]:
        """k-anonymity revisited, counted by pairs of an original and a released row."""
        kind, k = self.case.spec["privacy"]["anonymity"], self.case.spec["privacy"]["k"]
        values, everyone = self.requirement.values, range(len(self.case.table.rows))

        def fit(row: int, own: Mapping[str, Cell]) -> bool:
            for name in self.columns:
                ladder = self.ladders[name]
                if own[name] in ("*", ladder.top) or ladder.levels_of(values[name][row], own[name]):
                    continue
                return False
            return True

        pairs = {row: {one for one, own in self.labels.items() if fit(row, own)} for row in everyone}
        back = {one: {row for row in everyone if one in pairs[row]} for one in self.labels}
        gone = len(self.case.table.rows) - len(self.labels)
        poor = [row for row in everyone if len(pairs[row]) < k]
        alone = [row for row in poor if not pairs[row]]
        if kind in ("(1,k)", "(k,k)", "global (1,k)") and (len(poor) > len(alone) or len(alone) > gone):
            yield Finding("class", f"{len(poor)} original rows fit fewer than {k} released rows")
        if kind in ("(k,1)", "(k,k)") and any(len(rows) < k for rows in back.values()):
            yield Finding("class", f"a released row fits fewer than {k} original rows")
        if kind == "global (1,k)" and not gone:
            if any(row not in pairs[row] for row in everyone):
                yield Finding("label", "a released row does not fit its own original")
            elif any(len(reassigned(pairs, row)) < k for row in everyone):
                yield Finding("class", f"an original row can have fewer than {k} released rows")

    def breaches(self, personal: Mapping[str, Any]) -> Iterator[Finding]:
        """Personalized privacy: no guarding node is inferred with more than p_breach."""
        name, values = personal["column"], self.requirement.values
        definition = personal.get("taxonomy") or self.case.spec["columns"][name]["hierarchy"]
        tree = build(definition, name, self.case.table.kind(name), values[name], self.case)
        below: dict[Cell, set[Cell]] = {}
        for leaf in tree.leaves:
            for level in range(tree.height + 1):
                below.setdefault(tree.label(leaf, level), set()).add(leaf)
        for row, own in self.rows.items():
            if own[name] not in below or values[name][row] not in below[own[name]]:
                yield Finding("label", "a sensitive label is no ancestor of the row's value")
                return
        most = Fraction(str(personal["p_breach"]))
        for members in classes_of(self.labels, self.columns).values():
            count = self.requirement.people(members)
            for row in members:
                guard = values[personal["guarding"]][row]
                if guard is None:
                    continue
                shares = []
                for other in members:
                    node = below[self.rows[other][name]]
                    shares.append(Fraction(len(node & below[guard]), len(node)))
                if personal.get("primary", True):
                    risk = sum(shares, Fraction(0)) / count
                else:
                    safe = Fraction(1)
                    for share in shares:
                        safe *= 1 - share / count
                    risk = 1 - safe
                if risk > most:
                    yield Finding("class", f"a guarding node is inferred with {float(risk):.3f}, above {float(most)}")
                    return


def near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))


def reassigned(pairs: Mapping[int, set[int]], row: int) -> set[int]:
    """The released rows that an original row can have while every other one has a row of its own that it fits.

    Each row fits its own, so another one is possible where a chain of rows, each of which gives up its own for the next
    one's, comes back to it.
    """
    back: dict[int, set[int]] = {one: set() for one in pairs}
    for one, fits in pairs.items():
        for other in fits:
            back[other].add(one)
    ends, waiting = {row}, [row]
    while waiting:
        for one in back[waiting.pop()] - ends:
            ends.add(one)
            waiting.append(one)
    return pairs[row] & ends
