"""Registries of what rows of a table stand for, imported when it is first asked for. Pure."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar


class Loadable(Protocol):
    """A row that names what it stands for as module:name."""

    def load(self) -> Any: ...


Made = TypeVar("Made")


class Loaded(UserDict[str, Made]):
    """What the rows of a table stand for, each imported when it is first asked for; `make` finishes what was loaded."""

    def __init__(self, rows: Mapping[str, Loadable], make: Callable[[Any], Made] = lambda loaded: loaded) -> None:
        super().__init__()
        self._make = make
        self._waiting = dict(rows)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._waiting, **self.data})

    def __len__(self) -> int:
        return len({**self._waiting, **self.data})

    def __contains__(self, name: object) -> bool:
        return name in self._waiting or name in self.data

    def __getitem__(self, name: str) -> Made:
        if name not in self.data and name in self._waiting:
            self.data[name] = self._make(self._waiting[name].load())
        return self.data[name]
