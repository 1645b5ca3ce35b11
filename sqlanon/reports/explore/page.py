"""The page of `sqlanon explore`, from the report's own lattice.

Everything is in the page: style, script, the lattice. It talks to nobody but the server that sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlanon.reports.html import embedded_json, environment, script_hash, text_of


def script() -> str:
    """The script of the page: the lattice, and what the database adds to it."""
    return text_of("lattice.js") + text_of("explore.js")


def policy() -> str:
    """What the page may do: run its own script, ask its own server."""
    return (
        f"default-src 'none'; script-src {script_hash(script())}; style-src 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def page(view: Mapping[str, Any], *, name: str, source: str, lock: str) -> str:
    """The page with a lattice that is already known."""
    from markupsafe import Markup

    context = {
        "view": view,
        "name": name,
        "source": source,
        "lock": lock,
        "live": True,
        "lattice": view["lattice"],
        "lattice_json": Markup(embedded_json(view["lattice"])),
        "style": Markup(text_of("style.css")),
        "script": Markup(script()),
    }
    return environment().get_template("explore.html").render(context)
