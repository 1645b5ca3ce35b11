"""DuckDB through its own API: the embedded engine, which also reads and writes csv and parquet files.

The only room that imports the driver besides its errors. One process owns a database file at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import batched
from pathlib import Path
from typing import ClassVar, TypeVar

import duckdb
from sqlglot import exp
