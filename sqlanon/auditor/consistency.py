"""Rows of a release that fit rows of its source: (1,k), (k,1), (k,k) and global (1,k) (Gionis et al. 2008).

Counted in the database, over scratch tables of distinct combinations. For the global figure alone Python holds the
graph of combinations that fit, numbers without values, up to MOST_EDGES.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.auditor import consistency_statements as sql
from sqlanon.auditor.figures import Check, ModelQuestion
from sqlanon.auditor.request import Ancestors, Opened
from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Anonymity
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import Table, cast, literal, table_expression

Edge = tuple[int, int]


class RowAssignment:
    """An assignment of every released row to an original row of its own, if there is one.

    Combinations stand for their rows: the assignment is a flow in the graph of combinations that fit. It tells which
    released rows an original row can have in some assignment of all of them (global (1,k)).
    """

    def __init__(self, originals: Mapping[int, int], released: Mapping[int, int], edges: Sequence[Edge]) -> None:
        self.released = dict(released)
        self.fits: dict[int, list[int]] = {o: [] for o in originals}
        self.fitted: dict[int, list[int]] = {r: [] for r in released}
        for o, r in edges:
            self.fits[o].append(r)
            self.fitted[r].append(o)
        self.flow: dict[Edge, int] = {}
        self.left = dict(originals)
        """Rows of an original combination that have no released row."""
        self.open = dict(released)
        self._fill()

    @property
    def complete(self) -> bool:
        """Whether every released row has an original row."""
        return not any(self.open.values())

    def _fill(self) -> None:
        for o, choices in self.fits.items():
            for r in choices:
                self._give(o, r, min(self.left[o], self.open[r]))
        while any(self.open.values()) and self._augmented():
            pass

    def _give(self, o: int, r: int, rows: int) -> None:
        if rows:
            self.flow[o, r] = self.flow.get((o, r), 0) + rows
            self.left[o] -= rows
            self.open[r] -= rows

    def _augmented(self) -> bool:
        """One phase of Dinic: levels by breadth, then augmenting paths along them until none is left."""
        levels = self._levels()
        moved = False
        choices = {o: iter(found) for o, found in self.fits.items()}
        back = {r: iter(found) for r, found in self.fitted.items()}
        for o, rows in list(self.left.items()):
            while rows and self.left[o] and self._path(o, levels, choices, back):
                moved = True
        return moved

    def _levels(self) -> dict[tuple[bool, int], int]:
        queue = deque((False, o) for o, rows in self.left.items() if rows)
        levels = dict.fromkeys(queue, 0)
        while queue:
            node = queue.popleft()
            for following in self._next(node):
                if following not in levels:
                    levels[following] = levels[node] + 1
                    queue.append(following)
        return levels

    def _next(self, node: tuple[bool, int]) -> list[tuple[bool, int]]:
        is_released, number = node
        if not is_released:
            return [(True, r) for r in self.fits[number]]
        return [(False, o) for o in self.fitted[number] if self.flow.get((o, number), 0)]

    def _path(
        self,
        start: int,
        levels: Mapping[tuple[bool, int], int],
        choices: Mapping[int, Iterator[int]],
        back: Mapping[int, Iterator[int]],
    ) -> bool:
        """Follow levels from an original with rows left to a released one that lacks an original; shift along it."""
        path: list[tuple[bool, int]] = [(False, start)]
        while path:
            is_released, number = path[-1]
            if is_released and self.open[number]:
                self._shift(path)
                return True
            following = next(back[number] if is_released else choices[number], None)
            if following is None:
                path.pop()
                continue
            node = (not is_released, following)
            flows = not is_released or self.flow.get((node[1], number), 0) > 0
            if flows and levels.get(node) == levels[path[-1]] + 1:
                path.append(node)
        return False

    def _shift(self, path: Sequence[tuple[bool, int]]) -> None:
        start, end = path[0][1], path[-1][1]
        returned = [self.flow[o, r] for (_, r), (_, o) in zip(path[1::2], path[2::2], strict=False)]
        rows = min(self.left[start], self.open[end], *returned)
        for (_, o), (_, r) in zip(path[0::2], path[1::2], strict=True):
            self.flow[o, r] = self.flow.get((o, r), 0) + rows
        for (_, r), (_, o) in zip(path[1::2], path[2::2], strict=False):
            self.flow[o, r] -= rows
        self.left[start] -= rows
        self.open[end] -= rows

    def partners(self) -> dict[int, int]:
        """For each original combination, the released rows that one of its rows has in some complete assignment.

        An edge is in one when it carries rows, or lies on a cycle along which rows can be exchanged: when both its
        ends are in one strong component of the residual graph. Original rows that were left out exchange with all.
        """
        component = _components(self._residual())
        return {
            o: sum(self.released[r] for r in found if component[1 + 2 * o] == component[2 + 2 * r])
            for o, found in self.fits.items()
        }

    def _residual(self) -> dict[int, list[int]]:
        """Originals are odd, released even; 0 is where rows of the source go that the release lacks."""
        graph: dict[int, list[int]] = {0: []}
        for o, found in self.fits.items():
            graph[1 + 2 * o] = [2 + 2 * r for r in found]
        for r, found in self.fitted.items():
            graph[2 + 2 * r] = [1 + 2 * o for o in found if self.flow.get((o, r), 0)]
        if any(self.left.values()):
            graph[0] = [1 + 2 * o for o, rows in self.left.items() if rows]
            for o in self.fits:
                graph[1 + 2 * o].append(0)
        return graph


def _components(graph: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """The strong component of each node, by Tarjan's algorithm without recursion."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    component: dict[int, int] = {}
    stack: list[int] = []
    for start in graph:
        if start in index:
            continue
        work = [(start, 0)]
        while work:
            node, place = work.pop()
            if not place:
                index[node] = lowest[node] = len(index)
                stack.append(node)
            followers = graph[node]
            for at in range(place, len(followers)):
                following = followers[at]
                if following not in index:
                    work += [(node, at + 1), (following, 0)]
                    break
                if following not in component:
                    lowest[node] = min(lowest[node], lowest[following])
            else:
                if lowest[node] == index[node]:
                    _close(node, stack, component)
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
    return component


def _close(node: int, stack: list[int], component: dict[int, int]) -> None:
    member = -1
    while member != node:
        member = stack.pop()
        component[member] = node


MOST_PAIRS = 100_000_000
"""Pairs of combinations that are compared at most."""
MOST_EDGES = 99_999
"""Pairs of combinations that fit, and combinations of either table, that Python holds at most."""
MOST_EXPANDED = 8
"""How many times longer the source's combinations may become where labels are joined by equality."""


@dataclass(frozen=True)
class Consistency:
    """How many rows fit, at least; a figure that was not measured is None, and `reason` says why."""

    one_k: int | None = None
    """Released rows that an original row fits, of those that fit one."""
    k_one: int | None = None
    """Original rows that a released row fits."""
    global_one_k: int | None = None
    """Released rows that an original row can have in an assignment of all, of those that fit one."""
    unmatched: int = 0
    """Original rows that fit no released row."""
    reason: str = ""
    rows_at_risk: Mapping[str, tuple[int, int]] | None = None
    """For each figure: the combinations, and their rows, that are below the k that was asked."""

    @property
    def k_k(self) -> int | None:
        return None if self.one_k is None or self.k_one is None else min(self.one_k, self.k_one)

    def of(self, anonymity: Anonymity) -> int | None:
        """The figure that a kind of anonymity is judged by."""
        figures = {"(1,k)": self.one_k, "(k,1)": self.k_one, "(k,k)": self.k_k, "global (1,k)": self.global_one_k}
        return figures.get(anonymity)

    def to_dict(self) -> dict[str, Any]:
        return {
            "one_k": self.one_k,
            "k_one": self.k_one,
            "k_k": self.k_k,
            "global_one_k": self.global_one_k,
            "unmatched": self.unmatched,
            "not_measured": self.reason or None,
        }


def consistency_check(found: Consistency, anonymity: Anonymity, k: int, group: str, rows: int, classes: int) -> Check:
    """A kind of anonymity that is asked instead of classes of k rows."""
    complaint = f"fit fewer than {k} rows" if anonymity != "global (1,k)" else f"have fewer than {k} rows to be"
    question = ModelQuestion("anonymity", f"{anonymity}, k = {k}", complaint, "the fewest are {}", kind=anonymity)
    measured = found.of(anonymity)
    if measured is None:
        return Check(question, group, classes, classes, rows, rows, None, f"not measured: {found.reason}")
    at_risk = (found.rows_at_risk or {}).get(anonymity, (0, 0))
    return Check(question, group, classes, at_risk[0], rows, at_risk[1], measured)


@dataclass
class _Comparison:
    """A release and its source, combination by combination, in scratch tables."""

    engine: Engine
    scratch: Scratch
    names: tuple[str, ...]
    k: int

    def create(self, name: str, query: exp.Query) -> Table:
        return self.scratch.create("compare with source", f"a_{name}", query)

    def ask(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.engine.query(Statement("compare with source", query))


def measure_consistency(
    engine: Engine, audited: Opened, source: Opened, ancestors: Ancestors, names: Sequence[str], k: int
) -> Consistency:
    """The figures of a release with rows."""
    source.require(*names)
    work = _Comparison(engine, ancestors.scratch, tuple(names), k)
    chain = _chains(work, ancestors, empty_is_null=source.empty_is_null)
    # An empty text has a hierarchy of its own; where it is a label, it is the field that NULL is too.
    source = replace(source, empty_is_null=False)
    tops = [_text(ancestors.tops[name], engine) for name in names]
    originals = work.create("o", sql.originals(source.expression(), [source.key(name) for name in names], chain, tops))
    keys = [audited.key(name, as_text=True) for name in names]
    blanks = [ancestors.blanks and audited.family(name) is not Family.TEXT for name in names]
    released = work.create("r", sql.released(audited.expression(), keys, chain, tops, blanks, _text(TOP, engine)))
    made = [originals, released, *(table for item in chain for table in (item.labels, item.values))]
    covers = [work.create(f"v{i}", sql.covers(originals, released, i, item.height)) for i, item in enumerate(chain)]
    found = _compared(work, originals, released, covers, [item.height for item in chain])
    ancestors.scratch.drop(*made, *covers)
    return found


def _text(value: str, engine: Engine) -> exp.Expression:
    return engine.traits.key(cast(literal(value), "text"), Family.TEXT)


def _chains(work: _Comparison, ancestors: Ancestors, *, empty_is_null: bool) -> list[sql.Chain]:
    found: list[sql.Chain] = []
    for i, name in enumerate(work.names):
        opened = Opened.at(work.engine, ancestors.hierarchies[name], "hierarchy")
        height = sum(1 for label in opened.columns if label.startswith("label_")) - 1
        texts = [opened.key(f"label_{level}", as_text=True) for level in range(height + 1)]
        top = _text(ancestors.tops[name], work.engine)
        labels = work.create(f"l{i}", sql.labels(texts, opened.expression(), top))
        numbers = sql.chains([text.copy() for text in texts], opened.expression(), labels, empty_is_null=empty_is_null)
        found.append(sql.Chain(labels, work.create(f"c{i}", numbers), height + empty_is_null))
    return found


def _compared(
    work: _Comparison, originals: Table, released: Table, covers: Sequence[Table], heights: Sequence[int]
) -> Consistency:
    [row] = work.ask(sql.totals(originals, released, covers))
    combinations, rows, _, released_rows = (int(number) for number in row[:4])
    unknown, fitting = ([int(number) for number in row[start::2]] for start in (4, 5))
    for name, number in zip(work.names, unknown, strict=True):
        if number:
            text = f"{number} released rows have a label in column '{name}' that its hierarchy does not have"
            return Consistency(reason=text)
    chosen = _joined_by_equality(covers, [number / max(combinations, 1) for number in fitting])
    [(candidates,)] = work.ask(sql.candidates(originals, released, chosen))
    if int(candidates) > MOST_PAIRS:
        text = f"{int(candidates)} pairs of combinations would be compared, at most {MOST_PAIRS} are"
        return Consistency(reason=text)
    pairs = work.create("p", sql.pairs(originals, released, chosen, heights))
    found = _figures(work, originals, released, pairs, rows - released_rows)
    work.scratch.drop(pairs)
    return found


def _joined_by_equality(covers: Sequence[Table], fitting: Sequence[float]) -> dict[int, Table]:
    """The columns whose labels are joined by equality: those that lengthen the source's combinations least."""
    chosen: dict[int, Table] = {}
    longer = 1.0
    for i in sorted(range(len(covers)), key=lambda position: fitting[position]):
        longer *= max(fitting[i], 1.0)
        if chosen and longer > MOST_EXPANDED:
            break
        chosen[i] = covers[i]
    return dict(sorted(chosen.items()))


def _figures(work: _Comparison, originals: Table, released: Table, pairs: Table, suppressed: int) -> Consistency:
    [own] = work.ask(sql.fitting(originals, "o", released, "r", pairs, work.k))
    [there] = work.ask(sql.fitting(released, "r", originals, "o", pairs, work.k))
    fewest, few, alone, few_groups, alone_groups, degree = (int(number or 0) for number in own)
    fewest_there, few_there, alone_there, few_groups_there, alone_groups_there, _ = (int(n or 0) for n in there)
    # A row that fits no original is of no source; originals may be without one, as many as were suppressed.
    missing = alone > suppressed
    one_k = 0 if missing or alone_there else fewest
    k_one = 0 if alone_there else fewest_there
    risks = {
        "(1,k)": (few_groups + missing * alone_groups + bool(alone_there), few + missing * alone + alone_there),
        "(k,1)": (few_groups_there + alone_groups_there, few_there + alone_there),
    }
    risks["(k,k)"] = (risks["(1,k)"][0] + risks["(k,1)"][0], max(risks["(1,k)"][1], risks["(k,1)"][1]))
    found = Consistency(one_k, k_one, None, alone, "", risks)
    if not one_k:
        return _with_global(found, 0, risks["(1,k)"])
    return _global(work, found, originals, released, pairs, degree, suppressed)


def _with_global(found: Consistency, figure: int, at_risk: tuple[int, int]) -> Consistency:
    risks = {**(found.rows_at_risk or {}), "global (1,k)": at_risk}
    return Consistency(found.one_k, found.k_one, figure, found.unmatched, "", risks)


def _global(
    work: _Comparison, found: Consistency, originals: Table, released: Table, pairs: Table, degree: int, suppressed: int
) -> Consistency:
    if degree == 1:
        # Every original row fits one combination alone: any of its rows can be the released one, if they suffice.
        [(short,)] = work.ask(sql.short_releases(originals, released, pairs))
        risks = (found.rows_at_risk or {})["(1,k)"]
        return (
            _with_global(found, 0, (int(short), int(short))) if short else _with_global(found, found.one_k or 0, risks)
        )
    sizes = [int(work.ask(row_count(table_expression(table)))[0][0]) for table in (originals, released, pairs)]
    if max(sizes) > MOST_EDGES:
        text = f"the global figure takes a graph of {max(sizes)} pairs of combinations, at most {MOST_EDGES} are held"
        return Consistency(found.one_k, found.k_one, None, found.unmatched, text, found.rows_at_risk)
    held = {int(o): int(n) for o, n in work.ask(sql.counted(originals, "o"))}
    kept = {int(r): int(n) for r, n in work.ask(sql.counted(released, "r"))}
    assignment = RowAssignment(held, kept, [(int(o), int(r)) for o, r in work.ask(sql.all_pairs(pairs))])
    if not assignment.complete:
        return _with_global(found, 0, (1, sum(assignment.open.values())))
    partners = {o: number for o, number in assignment.partners().items() if number}
    few = {o: held[o] for o, number in partners.items() if number < work.k}
    return _with_global(found, min(partners.values()), (len(few), sum(few.values())))
