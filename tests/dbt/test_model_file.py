"""What users write into a model's file stays theirs, to the byte; what could add SQL to a release does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlanon.cli.main import run
from sqlanon.dbt.model_file import END, MARK, ModelFile
from sqlanon.errors import UsageError
from tests.dbt.test_writing import QUASI_IDENTIFIERS, done, tuples
from tests.kit.fake_dbt import FakeProject

SELECT = "select * from {{ ref('staged') }}"

CONFIGS = [
    "{{ config(materialized='sqlanon_release') }}\n",
    "{{ config(materialized='sqlanon_release', alias='Patients', schema='release', database='prod') }}\n\n",
    "{{\n  config(\n    materialized = \"sqlanon_release\",\n    tags = ['nightly', 'pii:none'],\n  )\n}}\n",
    "{{- config(materialized='sqlanon_release', enabled=var('release', true) and target.name != 'dev') -}}\n",
    "{{ config(materialized='sqlanon_release', grants={'select': ['reader', \"it's\"]}, full_refresh=true) }}\n",
    "{{ config(materialized='sqlanon_release', post_hook=[\"analyze {{ this }}\", 'grant {{ this }} to x']) }}\n",
    "{{ config(materialized='sqlanon_release', pre_hook=audit_log(event=('start'), of=this)) }}\n-- seen by ops\n",
    "{{ config(materialized='sqlanon_release', contract={'enforced': true}, access='public', group='health') }}\n",
    "{# Ask (\"us\") #}\n/* ; */\n{{ config(materialized='sqlanon_release', indexes=[{'columns': ['zip']}]) }}\r\n\r\n",
    "{{ config(materialized='sqlanon_release') }}\n{{ config(meta={'a': 'ä 数据'}) }}\n-- €: \\ '\n",
    "",
]

HOSTILE = [
    "select area from {{ ref('staged') }}",
    f"{SELECT} where 1 = 1",
    f"{SELECT}\nunion all {SELECT}",
    f"with a as ({SELECT}) {SELECT}",
    f"{{{{ config(a=1) ~ 'select 1 union all' }}}}\n{SELECT}",
    f"-- {{{{ '\\n' ~ 'select 1 union all' }}}}\n{SELECT}",
    f"/* {{% if true %}} */ select 1 union all /* {{% endif %}} */\n{SELECT}",
    f"{{% set ref = other %}}\n{SELECT}",
    f"{{% raw %}}\n{SELECT}",
    f"/*\n{SELECT}\n*/ select 1",
    "{{ my_macro() }}",
    "",
]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("after", ["", "\n", ";\n-- nothing more\n", "\r\n{# the end #}"])
def test_what_stands_outside_the_marks_stays(tmp_path: Path, config: str, after: str) -> None:
    path = tmp_path / "release.sql"
    path.write_bytes(f"{config}{SELECT}{after}".encode())
    kept = after.removeprefix(";")
    for part in (f"{MARK}\nselect 1\n{END}", f"{MARK} Once more.\nselect 2\n{END}"):
        path.write_bytes(ModelFile.read(path).with_part(part).encode())
        assert path.read_bytes().decode() == f"{config}{part}{kept or chr(10)}"
    assert ModelFile.read(path) == ModelFile(config, kept or "\n", part)


@pytest.mark.parametrize("text", HOSTILE)
def test_sql_of_somebody_else_is_seen(tmp_path: Path, text: str) -> None:
    assert ModelFile.of(text) is None
    written = f"{MARK}\nselect 1\n{END}"
    if text:
        for around in (f"{text}\n{written}\n", f"{written}\n{text}\n", f"/*\n{written}\n*/ {text}"):
            assert ModelFile.of(around) is None
    path = tmp_path / "release.sql"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="holds SQL of your own"):
        ModelFile.read(path)


def test_a_model_that_was_written_whole_keeps_its_config() -> None:
    text = f"{MARK} Earlier.\n-- Levels: []\n{CONFIGS[0]}\nselect 1\n"
    file = ModelFile.of(text)
    assert file is not None
    assert file.with_part(f"{MARK}\nselect 2\n{END}") == f"{CONFIGS[0]}\n{MARK}\nselect 2\n{END}\n"


@pytest.mark.parametrize("config", [CONFIGS[2], CONFIGS[5], CONFIGS[8], CONFIGS[9], CONFIGS[10]])
def test_the_command_keeps_a_config(duckdb_url: str, tmp_path: Path, config: str) -> None:
    done(duckdb_url, "CREATE TABLE staged (area text, marital text)")
    done(duckdb_url, f"INSERT INTO staged VALUES {tuples([['ab1', 'single'], ['ab2', 'single']] * 3)}")
    project = FakeProject(tmp_path / "project", "main")
    project.write({"source": "staged", "k": 2}, QUASI_IDENTIFIERS)
    project.profile({"type": "duckdb", "path": "../test.duckdb"})
    project.model.write_bytes(f"{config}{SELECT}\n-- mine\r\n".encode())
    for _ in range(2):
        assert run(["dbt", "--project", str(project.folder), "--dbt", str(project.parser())]) == 0
        text = project.model.read_bytes().decode()
        before, mark, rest = text.partition(MARK)
        assert (before, mark) == (config, MARK)
        assert rest.partition(END)[2] == "\n-- mine\r\n"
