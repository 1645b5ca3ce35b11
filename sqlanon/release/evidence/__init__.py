"""Evidence of each release: what was asked, decided, measured and run; counts and names, never a data value.

Kept as a JSON file for each run and, where the spec wants it, in tables of the scratch schema.
"""

from __future__ import annotations

from sqlanon.release.evidence.document import Facts, StatementRecord, requirements_of
from sqlanon.release.evidence.recorder import Recorder, recorder_for

__all__ = ["Facts", "Recorder", "StatementRecord", "recorder_for", "requirements_of"]
