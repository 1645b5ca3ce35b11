"""Labels of single combinations that fit as many rows as a kind of anonymity asks (Gionis, Mazza and Tassa 2008).

Greedy, in rounds: every combination that fits too few rows picks the pair whose labels cost least to widen. A constant
number of statements for each round; at most about k rounds, because each pick adds a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.recoding.cells import fitting_statements as fitting_sql
from sqlanon.recoding.cells.fitting_statements import Mode
from sqlanon.recoding.cells.forest import Forest
from sqlanon.spec import Anonymity
from sqlanon.sql.relations import Table

PHASES: dict[Anonymity, Sequence[Mode]] = {
    "(k,1)": ("own",),
    "(1,k)": ("other",),
    "(k,k)": ("own", "other"),
    "global (1,k)": ("mutual",),
}
"""What labels must fit, one after the other. Two rows that fit each other's labels can change places in every
assignment: k such rows are enough for global (1,k)."""


def widened(forest: Forest, near: Table, anonymity: Anonymity) -> Table | None:
    """The step of each vertex's label in each column, `g`, `t_i` and `o_i`; None for classic."""
    if anonymity == "classic":
        return None
    scratch, vertices, steps = forest.scratch, forest.vertices, forest.steps
    pairs = scratch.create("fitting", "w_pairs", fitting_sql.pairs(vertices, near, steps))
    state = scratch.create("fitting", "w_state0", fitting_sql.as_they_are(vertices, steps))
    for mode in PHASES[anonymity]:
        while True:
            forest.rounds += 1
            query = fitting_sql.picked(state, pairs, steps, forest.k, mode)
            picks, number = scratch.create_counted("fitting", "w_picks", query)
            if not number:
                scratch.drop(picks)
                break
            after = fitting_sql.widened(state, picks, len(steps), mode)
            wider = scratch.create("fitting", f"w_state{forest.rounds}", after)
            scratch.drop(state, picks)
            state = wider
    found = scratch.create("fitting", "w_reached", fitting_sql.reached(state, vertices, len(steps)))
    scratch.drop(state, pairs)
    return found
