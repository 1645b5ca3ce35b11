"""The release as commented SQL, for people who review it and run it by hand, with the client of their database.

The statements are those that publish runs; definitions are inserted as literals, and each check is a query that fails.
"""

from __future__ import annotations

from sqlanon.release.script.writer import Script, ScriptWriter, compiled, scripting_named

__all__ = ["Script", "ScriptWriter", "compiled", "scripting_named"]
