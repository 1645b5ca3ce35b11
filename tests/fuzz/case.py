"""A case: tables, files and a spec as plain data, which a JSON file can hold and replay."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

Cell = str | None
"""A value as text, whatever its type; None is NULL."""

SOURCE, TARGET, POPULATION = "@source", "@target", "@population"
REFERENCE = "@reference:"
"""Names that a spec uses in a case; the database of a run puts real names in their place."""


@dataclass
class Column:
    """A column: its name and kind (text, integer, bigint, hugeint, decimal, double, date, timestamp, boolean)."""

    name: str
    kind: str


@dataclass
class Table:
    """A small table."""

    columns: list[Column]
    rows: list[list[Cell]]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def kind(self, name: str) -> str:
        return next(column.kind for column in self.columns if column.name == name)

    def values(self, name: str) -> list[Cell]:
        place = self.names.index(name)
        kind = self.columns[place].kind
        return [printed(row[place], kind) for row in self.rows]


@dataclass
class Case:
    """Everything that one release is made of."""

    seed: int
    engine: str
    table: Table
    spec: dict[str, Any]
    row_id: str
    population: Table | None = None
    references: dict[str, Table] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    source: str = "table"
    target: str = "table"
    names: dict[str, str] = field(default_factory=dict)

    @property
    def algorithm(self) -> str:
        search = self.spec.get("search", {})
        if "personalized" in self.spec["privacy"]:
            return str(search.get("algorithm", "personalized"))
        cells = search.get("model") in ("AG_CS", "CG_", "_CS")
        return str(search.get("algorithm", "forest" if cells else "optimal"))

    def columns_of(self, role: str) -> list[str]:
        """Columns of a role, in the order of the spec."""
        return [name for name, column in self.spec["columns"].items() if column["role"] == role]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Case:
        read = json.loads(text)
        for key in ("table", "population"):
            read[key] = read[key] and _table(read[key])
        read["references"] = {name: _table(table) for name, table in read["references"].items()}
        return cls(**read)

    @classmethod
    def read(cls, path: Path) -> Case:
        return cls.from_json(path.read_text(encoding="utf-8"))


def _table(read: dict[str, Any]) -> Table:
    return Table([Column(**column) for column in read["columns"]], read["rows"])


def printed(cell: Cell, kind: str) -> Cell:
    """The one text of a value among those that are equal to it."""
    if cell is None or kind not in ("double", "decimal"):
        return cell
    if kind == "decimal":
        return f"{Decimal(cell):.2f}" if Decimal(cell) else "0.00"
    return number(float(cell))


def number(value: float) -> str:
    """A float as PostgreSQL prints it."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    return f"{mantissa}e{exponent[0] if exponent[0] in '+-' else '+'}{exponent.lstrip('+-').zfill(2)}"
