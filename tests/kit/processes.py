"""Processes that have everything imported already: a fork of this one costs a hundredth of a new interpreter."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable


def fork(action: Callable[[], int]) -> int:
    """The id of a child that ends with what an action returns, or with 70 if it raises; pytest's clean-up is ours."""
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, also of those of the database's library; the child only acts and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = action()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
