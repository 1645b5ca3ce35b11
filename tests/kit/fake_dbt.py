"""A dbt project without dbt: the files that dbt would have written, and a command that writes its manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sqlanon.dbt.model_file import END

STUB = "{{ config(materialized='sqlanon_release') }}\n-- nothing yet\nselect * from {{ ref('staged') }}\n"
REF = re.compile(r"\{\{ ref\('(\w+)'\) \}\}")


@dataclass(frozen=True)
class FakeProject:
    """A project with a source `staged`, and a model `release` whose SQL is to be written."""

    folder: Path
    schema: str

    @property
    def model(self) -> Path:
        return self.folder / "models" / "release.sql"

    def write(
        self, meta: Mapping[str, Any] | None, columns: Mapping[str, Mapping[str, Any]], adapter: str = "duckdb"
    ) -> None:
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        (self.folder / "dbt_project.yml").write_text("{name: fake, profile: fake}", encoding="utf-8")
        if not self.model.exists():
            self.model.write_text(STUB, encoding="utf-8")
        content = json.dumps(self.manifest(meta, columns, adapter))
        (self.folder / "prepared.json").write_text(content, encoding="utf-8")

    def manifest(
        self, meta: Mapping[str, Any] | None, columns: Mapping[str, Mapping[str, Any]], adapter: str
    ) -> dict[str, Any]:
        release = self.node("release", "model", "sqlanon_release", meta)
        release["columns"] = {name: {"config": {"meta": {"sqlanon": stated}}} for name, stated in columns.items()}
        nodes = [self.node("staged", "model", "table"), release, self.node("passing", "model", "ephemeral")]
        return {
            "metadata": {"project_name": "fake", "adapter_type": adapter},
            "nodes": {f"model.fake.{node['name']}": node for node in nodes},
            "sources": {
                "source.fake.raw.staged": {
                    "name": "staged", "source_name": "raw", "schema": "landing", "identifier": "staged_today",
                }
            },
        }  # fmt: skip

    @property
    def parsed(self) -> list[str]:
        """The arguments of each call of the parser."""
        notes = self.folder / "arguments"
        return notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []

    def node(self, name: str, kind: str, materialized: str, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return {
            "name": name,
            "alias": name,
            "schema": self.schema,
            "resource_type": kind,
            "package_name": "fake",
            "original_file_path": f"models/{name}.sql",
            "config": {"materialized": materialized, "meta": {"sqlanon": meta} if meta else {}},
            "columns": {},
        }

    def profile(self, output: Mapping[str, Any], target: str = "there") -> None:
        content = {"fake": {"target": target, "outputs": {"there": dict(output)}}}
        (self.folder / "profiles.yml").write_text(yaml.safe_dump(content), encoding="utf-8")

    def query(self) -> str:
        """The SQL of the model as dbt would run it."""
        written = self.model.read_text(encoding="utf-8").partition(END)[0].partition("-- Signature: ")[2]
        text = written.partition("\n\n")[2].partition("\n{% set ")[0]
        return REF.sub(rf'"{self.schema}"."\1"', text).replace("{{ '{{' }}", "{{")

    def parser(self) -> Path:
        """A command that only knows `parse`: it puts the prepared manifest in its place and notes its arguments."""
        command = self.folder / "fake-dbt"
        program = '#!/bin/sh\nset -e\necho "$*" >> arguments\nmkdir -p target\ncp prepared.json target/manifest.json\n'
        command.write_text(program, encoding="utf-8")
        command.chmod(0o755)
        return command
