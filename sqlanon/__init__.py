"""Anonymize a table where it lives: k-anonymous, audited releases made by SQL inside the database.

The public names, loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
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
