"""Anonymize a table where it lives: k-anonymous, audited releases made by SQL inside the database.

The public names, loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlanon import errors
    from sqlanon.api import apply, audit, init, load_spec, plan, report, run

__all__ = ["__version__", "apply", "audit", "errors", "init", "load_spec", "plan", "report", "run"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("sqlanon.errors")
    if name in __all__:
        return getattr(import_module("sqlanon.api"), name)
    raise AttributeError(f"module 'sqlanon' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `sqlanon.audit` and `sqlanon.report` the public functions: importing a room of that name would put the
    module in their place."""

    @property
    def audit(self) -> Any:
        return getattr(import_module("sqlanon.api"), "audit")  # noqa: B009 (mypy takes the plain name for the room)

    @audit.setter
    def audit(self, module: ModuleType) -> None:
        """The import system announces the room here; `from sqlanon.audit import ...` does not need it."""

    @property
    def report(self) -> Any:
        return getattr(import_module("sqlanon.api"), "report")  # noqa: B009 (as above)

    @report.setter
    def report(self, module: ModuleType) -> None:
        """As above."""


sys.modules[__name__].__class__ = _Package
