"""The password of a connection: revealed on request, absent from everything that is printed."""

from __future__ import annotations

import copy
import json
import traceback
from pathlib import Path

import pytest

from sqlanon.errors import SpecError
from sqlanon.spec import Secret, json_schema, load_spec

PASSWORD = "hunter2!/?x"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://user:pw@host/db", "postgresql://user:***@host/db"),
        ("postgresql+psycopg://user:p@w:/@host:5432/db", "postgresql+psycopg://user:***@host:5432/db"),
        ("postgresql://:pw@host/db", "postgresql://:***@host/db"),
        ("postgresql://user@host/db", "postgresql://user@host/db"),
        ("postgresql://host/db?user=u&password=p@w", "postgresql://host/db?user=u&password=***"),
        ("postgresql://u:p@host/db?sslpassword=p&x=1", "postgresql://u:***@host/db?sslpassword=***&x=1"),
        ("duckdb:///md:db?motherduck_token=abc", "duckdb:///md:db?motherduck_token=***"),
        ("duckdb:///warehouse.duckdb", "duckdb:///warehouse.duckdb"),
        ("duckdb:///:memory:", "duckdb:///:memory:"),
        ("host=h password=pw", "***"),
    ],
)
def test_what_is_shown(url: str, shown: str) -> None:
    secret = Secret(url)
    assert str(secret) == f"{secret}" == shown
    assert repr(secret) == f"Secret('{shown}')"
    assert secret.reveal() == url
    assert copy.deepcopy(secret) == secret
    assert hash(secret) == hash(Secret(url))
    assert secret != Secret("duckdb:///x")


def test_the_password_never_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_PASSWORD", PASSWORD)
    path = tmp_path / "spec.yaml"
    good = (
        "connection: postgresql://user:${SQLANON_TEST_PASSWORD}@host/db\n"
        "source: s\ntarget: t\ncolumns: {q: {role: quasi_identifier}}\nprivacy: {k: 2}\n"
    )
    path.write_text(good, encoding="utf-8")
    spec = load_spec(path)
    assert PASSWORD in spec.connection.reveal()
    printed = [
        repr(spec),
        str(spec),
        str(spec.model_dump()),
        spec.model_dump_json(),
        spec.hash(),
        json.dumps(json_schema()),
    ]
    assert not any(PASSWORD in text for text in printed)
    assert "postgresql://user:***@host/db" in repr(spec)


MISPLACED = "${SQLANON_TEST_PASSWORD}"


@pytest.mark.parametrize(
    "line",
    [
        f"connection: {MISPLACED}",
        f"connection: [{MISPLACED}]",
        f"source: a..{MISPLACED}",
        f"source: {{file: {MISPLACED}}}",
        f"scratch: '{MISPLACED}.'",
        f"default_role: {MISPLACED}",
        f"limits: {{statement_seconds: {MISPLACED}}}",
        f"limits: {MISPLACED}",
        f"search: {{metric: {MISPLACED}, prefer: [{MISPLACED}], budget: {{nodes: {MISPLACED}}}}}",
        f"columns: {{q: {{role: quasi_identifier, hierarchy: {MISPLACED}}}}}",
        f"columns: {{q: {{role: quasi_identifier, hierarchy: {{interval: {{widths: [{MISPLACED}]}}}}}}}}",
        f"columns: {{q: {{role: quasi_identifier, hierarchy: {{date: [{MISPLACED}]}}}}}}",
        f"columns: {{q: {{role: quasi_identifier, hierarchy: {{sql: [{MISPLACED}]}}}}}}",
        f"privacy: {{k: 2, suppression: {{limit: {MISPLACED}, mode: {MISPLACED}}}}}",
    ],
)
def test_errors_do_not_echo_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setenv("SQLANON_TEST_PASSWORD", PASSWORD)
    keys = {
        "source": "source: s",
        "target": "target: t",
        "columns": "columns: {q: {role: quasi_identifier}}",
        "privacy": "privacy: {k: 2}",
    }
    keys[line.partition(":")[0]] = line
    path = tmp_path / "spec.yaml"
    path.write_text("\n".join(keys.values()), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in repr(caught.value)
