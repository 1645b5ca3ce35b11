"""Hierarchies in the database: every builder, every rule they are held to, and what an error says."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.engines.base import Engine
from sqlanon.errors import EngineError, HierarchyError, SpecError, SqlanonError
from sqlanon.hierarchies import Family
from sqlanon.source.hierarchies import report_hierarchy
from tests.kit.papers import adversarial_values
from tests.kit.tables import FEW, at, create, hierarchy_rows, quoted, rows, run, spec_of, stored

LABELS = [value for value in adversarial_values() if value]


def failure(engine: Engine, hierarchy: Any, *, show_values: bool = False) -> HierarchyError:
    with pytest.raises(HierarchyError) as caught, stored(engine, spec_of({"q": hierarchy}), show_values=show_values):
        pass
    assert caught.value.column == "q"
    return caught.value


def built(engine: Engine, hierarchy: Any) -> list[tuple[Any, ...]]:
    """The labels of every value, and the promise that codes and leaves follow them."""
    with stored(engine, spec_of({"q": hierarchy})) as made:
        [item] = made.hierarchies
        assert_codes_follow_labels(engine, item)
        return hierarchy_rows(engine, item)


def assert_codes_follow_labels(engine: Engine, item: Any) -> None:
    for level in range(item.height):
        found = rows(
            engine,
            f'SELECT CAST("label_{level}" AS text), "code_{level}", "leaves_{level}" '
            f"FROM {quoted(*item.table.table.parts)}",
        )
        sizes = Counter(label for label, _, _ in found)
        codes = {label: code for label, code, _ in found}
        # What labels of a range cover is counted in tests/source/test_domains.py.
        assert item.table.placed or all(sizes[label] == leaves for label, _, leaves in found)
        assert all(codes[label] == code for label, code, _ in found)
        assert sorted(codes.values()) == list(range(1, len(codes) + 1))


def write_csv(path: Path, lines: list[list[str]]) -> dict[str, Any]:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    return {"csv": {"path": str(path), "delimiter": ","}}


# -- every builder ---------------------------------------------------------------------------------------------------


def test_mask(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["94139"], ["941"], [None], ["94139"]])
    found = built(engine, {"mask": {"length": 5, "steps": [1, 2, 5]}})
    assert found == [("941", "941*", "941**", "*****"), ("94139", "9413*", "941**", "*****")]


def test_a_mask_without_length_takes_that_of_the_longest_value(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["12345"], ["1"], [""]])
    found = built(engine, {"mask": {"steps": [1, 4]}})
    assert found == [("", "*", "****", "*"), ("1", "1*", "1****", "*"), ("12345", "1234*", "1****", "*")]
    assert built(engine, {"mask": {"steps": [1, 5]}})[1] == ("1", "1*", "*****")


def test_a_mask_of_values_shorter_than_its_steps(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["ab"], ["c"]])
    assert built(engine, {"mask": {"steps": [1, 4]}}) == [("ab", "ab*", "****"), ("c", "c*", "****")]


ZIPS: list[list[object]] = [["94138"], ["94139"], ["94142"], [None]]


def test_a_mask_ends_with_the_step_that_leaves_one_label(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, ZIPS)
    two = [("94138", "9413*", "941**"), ("94139", "9413*", "941**"), ("94142", "9414*", "941**")]
    assert built(engine, {"mask": {"length": 5, "steps": [1, 2]}}) == two
    assert built(engine, {"mask": {"steps": [1, 2], "top": False}}) == two
    assert built(engine, {"mask": {"steps": [1, 2], "top": True}}) == [(*labels, "*") for labels in two]
    assert built(engine, {"mask": {"steps": [1]}}) == [(*labels[:2], "*") for labels in two]


def test_values_that_differ_at_the_last_step_of_a_mask_without_top(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, ZIPS)
    error = failure(engine, {"mask": {"length": 5, "steps": [1], "top": False}})
    assert "column 'q': its hierarchy ends in 2 labels, not one; leave out `top: false`" in str(error)
    assert error.count == 2


def test_values_in_quotes_and_backslashes_share_a_last_step(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["é'\\1"], ["é'\\2"]])
    assert built(engine, {"mask": {"steps": [1], "character": "'"}}) == [
        ("é'\\1", "é'\\'"),
        ("é'\\2", "é'\\'"),
    ]


def test_an_interval_that_holds_all_values_needs_no_top(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[21], [26], [56], [None]])
    widths = {"widths": [10, 60], "min": 1, "max": 61}
    found = built(engine, {"interval": {**widths, "top": False}})
    assert [labels[1:] for labels in found] == [
        ("[21, 31)", "[1, 61)"),
        ("[21, 31)", "[1, 61)"),
        ("[51, 61)", "[1, 61)"),
    ]
    assert [labels[3:] for labels in built(engine, {"interval": widths})] == [("*",)] * 3
    error = failure(engine, {"interval": {"widths": [10], "top": False}})
    assert error.count == 2


def test_a_value_longer_than_its_mask(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["94139"], ["941391"]])
    error = failure(engine, {"mask": {"length": 5}}, show_values=True)
    assert str(error) == "column 'q': 1 value is outside its hierarchy: '941391'"
    error = failure(engine, {"mask": {"length": 5, "steps": [2, 5]}})
    assert (error.count, error.level) == (1, 0)


def test_interval(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[3], [8], [-1], [250], [None]])
    found = built(engine, {"interval": {"widths": [5, 10], "min": 0, "max": 100}})
    assert sorted(found) == [
        ("-1", "<0", "<0", "*"),
        ("250", ">=100", ">=100", "*"),
        ("3", "[0, 5)", "[0, 10)", "*"),
        ("8", "[5, 10)", "[0, 10)", "*"),
    ]


def test_a_number_that_no_interval_can_hold_is_outside(engine: Engine) -> None:
    create(engine, ["t"], {"q": "double precision"}, [["1e300"], [5]])
    assert failure(engine, {"interval": {"widths": [5]}}).count == 1
    assert len(built(engine, {"interval": {"widths": [5], "max": 10}})) == 2


def test_floats_of_every_kind(engine: Engine) -> None:
    texts = ["NaN", "Infinity", "-Infinity", "-0.0", "0.0", "0.29", "0.3"]
    create(engine, ["t"], {"q": "double precision"}, [[text] for text in texts])
    found = built(engine, {"interval": {"widths": ["0.1"]}})
    assert sorted(found) == [
        ("-Infinity", "-Infinity", "*"),
        ("0", "[0.0, 0.1)", "*"),
        ("0.29", "[0.2, 0.3)", "*"),
        ("0.3", "[0.3, 0.4)", "*"),
        ("Infinity", "Infinity", "*"),
        ("NaN", "NaN", "*"),
    ]


def test_date(engine: Engine) -> None:
    create(engine, ["t"], {"q": "date"}, [["1964-09-27"], ["0733-01-02"], [None]])
    found = built(engine, {"date": ["day", "month", "10 years", "any"]})
    assert found == [
        ("0733-01-02", "0733-01", "[0730-0739]", "*"),
        ("1964-09-27", "1964-09", "[1960-1969]", "*"),
    ]


def test_infinite_dates_have_a_label_and_years_before_1_are_outside(engine: Engine) -> None:
    create(engine, ["t"], {"q": "date"}, [["infinity"], ["2020-02-03"]])
    assert ("infinity", "infinity", "*") in built(engine, {"date": ["month"]})
    before = "0044-03-15 BC" if engine.dialect == "postgres" else "0044-03-15 (BC)"
    run(engine, f"INSERT INTO t VALUES ('{before}')")
    assert failure(engine, {"date": ["month"]}).count == 1


def test_tree_of_uneven_depth(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["married"], ["single"]])
    found = built(engine, {"tree": {"been": ["married", "widow"], "never": ["single"]}})
    assert found == [("married", "been", "*"), ("single", "never", "*"), ("widow", "been", "*")]


def test_suppression_alone(engine: Engine) -> None:
    create(engine, ["t"], {"q": "boolean"}, [["true"], ["false"], [None]])
    assert built(engine, None) == [("false", "*"), ("true", "*")]
    assert built(engine, {"suppression": {"label": "it's"}}) == [("false", "it's"), ("true", "it's")]


def test_csv_of_numbers_and_dates_is_matched_by_text(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "int"}, [[1], [20]])
    assert built(engine, write_csv(tmp_path / "a.csv", [["1", "x"], ["20", "y"]])) == [
        ("1", "x", "*"),
        ("20", "y", "*"),
    ]
    run(engine, "DROP TABLE t")
    create(engine, ["t"], {"q": "timestamp"}, [["2020-01-02 03:04:05"]])
    assert len(built(engine, write_csv(tmp_path / "b.csv", [["2020-01-02 03:04:05", "x"]]))) == 1


def test_a_csv_of_twenty_thousand_rows(engine: Engine, tmp_path: Path) -> None:
    lines = [[f"{number:05d}", f"{number // 10:04d}*", f"{number // 1000:02d}***"] for number in range(20_000)]
    create(engine, ["t"], {"q": "text"}, [["00001"], ["19999"]])
    with stored(engine, spec_of({"q": write_csv(tmp_path / "big.csv", lines)})) as made:
        [item] = made.hierarchies
        assert (item.values, item.table.leaves, item.height) == (2, 20_000, 3)
        report = report_hierarchy(engine, item)
        assert report.labels == (20_000, 2_000, 20, 1)
        assert [row[:3] for row in report.rows()] == [tuple(line) for line in lines]


# -- values that mean only themselves --------------------------------------------------------------------------------


def test_adversarial_values_as_values_and_labels_of_a_csv(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [[value] for value in adversarial_values()])
    plain = [value for value in adversarial_values() if value is not None]
    # A csv file cannot tell one kind of line end from another.
    plain = [value for value in plain if "\r" not in value]
    run(engine, "DELETE FROM t WHERE q LIKE '%' || chr(13) || '%'")
    turned = dict(zip(plain, [*plain[1:], plain[0]], strict=True))
    found = built(engine, write_csv(tmp_path / "a.csv", [[value, f"{turned[value]}.", "top"] for value in plain]))
    assert sorted(found) == sorted((value, f"{turned[value]}.", "top") for value in plain)


def test_adversarial_values_as_values_and_labels_of_a_tree(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [[value] for value in LABELS])
    # A spec expands ${NAME} in texts, though not in keys; $${ is how it writes ${ itself.
    tree = {f"{label}!": [label.replace("${", "$${")] for label in LABELS}
    found = built(engine, {"tree": tree})
    assert sorted(found) == sorted((label, f"{label}!", "*") for label in LABELS)


def test_adversarial_values_in_a_reference_table(engine: Engine) -> None:
    plain = [value for value in adversarial_values() if value is not None]
    create(engine, ["t"], {"q": "text"}, [[value] for value in plain])
    create(engine, ["labelled"], {"value": "text", "n": "text"}, [[value, f"{value}."] for value in plain])
    found = built(engine, {"table": {"name": "labelled", "levels": ["value", "n"]}})
    assert sorted(found) == sorted((value, f"{value}.", "*") for value in plain)


def test_adversarial_values_under_a_mask(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [[value] for value in adversarial_values()])
    assert len(built(engine, {"mask": {"steps": [1, 3], "character": "'"}})) == len(adversarial_values()) - 1


# -- reference tables ------------------------------------------------------------------------------------------------


def test_typed_labels_of_a_reference_table_keep_their_type(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[1], [2], [3]])
    types = {"q": "bigint", "flag": "boolean", "day": "date", "all": "int"}
    create(
        engine,
        ["ref"],
        types,
        [[1, "true", "2020-01-01", 0], [2, "true", "2020-01-01", 0], [3, "false", "2020-01-01", 0]],
    )
    hierarchy = {"table": {"name": "ref", "levels": list(types)}}
    with stored(engine, spec_of({"q": hierarchy})) as made:
        [item] = made.hierarchies
        assert item.families == (Family.TEXT, Family.BOOLEAN, Family.DATE, Family.INTEGER)
        assert item.top == "0"
        assert_codes_follow_labels(engine, item)
    run(engine, "INSERT INTO ref VALUES (1, false, '2020-01-01', 0)")
    error = failure(engine, hierarchy, show_values=True)
    assert (error.level, error.count) == (0, 1)
    assert str(error).endswith("1 value at level 0 of its hierarchy has more than one parent: '1'")


def test_duplicates_and_values_the_source_lacks_do_no_harm(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"], ["b"]])
    create(engine, ["ref"], {"q": "text", "up": "text"}, [["a", "x"], ["a", "x"], ["b", "x"], ["z", "y"], [None, "w"]])
    assert built(engine, {"table": {"name": "ref", "levels": ["q", "up"]}}) == [
        ("a", "x", "*"),
        ("b", "x", "*"),
        ("z", "y", "*"),
    ]


def test_a_missing_label_names_its_level(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"], ["b"], ["c"]])
    create(
        engine,
        ["ref"],
        {"q": "text", "up": "text", "upper": "text"},
        [["a", "x", None], ["b", None, "z"], ["c", "y", "z"]],
    )
    error = failure(engine, {"table": {"name": "ref", "levels": ["q", "up"]}})
    assert str(error) == "column 'q': 1 value is outside its hierarchy (--show-values shows some)"
    run(engine, "UPDATE ref SET up = 'w' WHERE q = 'b'")
    error = failure(engine, {"table": {"name": "ref", "levels": ["q", "up", "upper"]}}, show_values=True)
    assert str(error) == "column 'q': 1 value is without a label at level 2 of its hierarchy: 'x'"


def test_an_unknown_reference_table_or_column(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    create(engine, ["ref"], {"q": "text", "up": "text"}, [["a", "x"]])
    with (
        pytest.raises(SqlanonError, match="nowhere"),
        stored(engine, spec_of({"q": {"table": {"name": "nowhere", "levels": ["q"]}}})),
    ):
        pass
    assert "has no column 'dwon'" in str(failure(engine, {"table": {"name": "ref", "levels": ["q", "dwon"]}}))


def test_an_empty_reference_table_covers_nothing(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"], ["b"]])
    create(engine, ["ref"], {"q": "text", "up": "text"}, [])
    assert failure(engine, {"table": {"name": "ref", "levels": ["q", "up"]}}).count == 2


def test_a_reference_table_of_values_alone_gets_a_top(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    create(engine, ["ref"], {"q": "text"}, [["a"], ["b"]])
    assert built(engine, {"table": {"name": "ref", "levels": ["q"]}}) == [("a", "*"), ("b", "*")]


@pytest.mark.postgres
def test_collations_of_a_reference_table_do_not_merge_labels(postgres_url: str) -> None:
    with at(postgres_url) as engine:
        try:
            run(engine, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        except EngineError:
            pytest.skip("this server was built without ICU, which collations that ignore case need")
        check_collations(engine, "blind", "blind")


@pytest.mark.postgres
def test_collations_of_source_and_reference_table_do_not_conflict(postgres_url: str) -> None:
    with at(postgres_url) as engine:
        check_collations(engine, "pg_c_utf8", "pg_unicode_fast")


def check_collations(engine: Engine, source: str, reference: str) -> None:
    run(engine, f"CREATE TABLE t (q text COLLATE {source})")
    run(engine, "INSERT INTO t VALUES ('a'), ('A'), ('b')")
    run(engine, f"CREATE TABLE ref (q text COLLATE {reference}, up text COLLATE {source}, upper text)")
    run(engine, "INSERT INTO ref VALUES ('a', 'x', 'z'), ('A', 'X', 'z'), ('b', 'x', 'z')")
    hierarchy = {"table": {"name": "ref", "levels": ["q", "up", "upper"]}}
    assert sorted(built(engine, hierarchy)) == [("A", "X", "z"), ("a", "x", "z"), ("b", "x", "z")]
    run(engine, "INSERT INTO ref VALUES ('b', 'X', 'z')")
    assert failure(engine, hierarchy).count == 1


# -- expressions -----------------------------------------------------------------------------------------------------


def test_expressions_keep_their_types(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[12], [17], [23], [None]])
    with stored(engine, spec_of({"q": {"sql": ["q", "q / 10 * 10 >= 20", "'*'"]}})) as made:
        if engine.dialect == "postgres":
            assert made.hierarchies[0].families == (Family.TEXT, Family.BOOLEAN, Family.TEXT)
    with stored(engine, spec_of({"q": {"sql": ["q", "floor(q / 10.0) * 10", "'all'"]}})) as made:
        [item] = made.hierarchies
        assert item.top == "all"
        found = rows(engine, f'SELECT "label_1" FROM {quoted(*item.table.table.parts)} ORDER BY 1')
        assert [int(label) for (label,) in found] == [10, 10, 20]
    assert {row[1:] for row in built(engine, {"sql": ["q", "'x' || cast(q % 2 as text)"]})} == {
        ("x0", "*"),
        ("x1", "*"),
    }


def test_an_expression_that_is_null_leaves_its_value_outside(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[1], [2], [3]])
    error = failure(engine, {"sql": ["q", "case when q > 1 then 'big' end"]}, show_values=True)
    assert str(error) == "column 'q': 1 value is outside its hierarchy: '1'"


def test_expressions_that_do_not_nest(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[1], [2], [3], [4]])
    error = failure(engine, {"sql": ["q", "q % 2", "q > 2"]})
    assert (error.level, error.count) == (1, 2)


def test_an_expression_the_engine_refuses_is_one_line_without_its_text(engine: Engine) -> None:
    create(engine, ["t"], {"q": "int"}, [[1]])
    for text in ("upper(q, q, q, q)", "q || ", "pg_sleep(1)", "(select 1)", "other"):
        with pytest.raises(SqlanonError) as caught, stored(engine, spec_of({"q": {"sql": ["q", text]}})):
            pass
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, SpecError) or "(q, q" not in str(caught.value)


# -- what a hierarchy is held to -------------------------------------------------------------------------------------


def test_coverage(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"], ["secret"], ["hidden"], ["secret"], [None]])
    hierarchy = write_csv(tmp_path / "a.csv", [["a", "x"], ["b", "x"]])
    error = failure(engine, hierarchy)
    assert (error.level, error.count) == (0, 2)
    assert str(error) == "column 'q': 2 values are outside its hierarchy (--show-values shows some)"
    assert str(failure(engine, hierarchy, show_values=True)).endswith("hierarchy: 'hidden', 'secret'")


def test_two_parents(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    error = failure(engine, write_csv(tmp_path / "a.csv", [["a", "x", "top"], ["a", "y", "top"]]))
    assert str(error).startswith("column 'q': 1 value at level 0 of its hierarchy has more than one parent")


def test_a_label_shared_by_two_branches(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    lines = [["a", "shared", "x", "top"], ["b", "shared", "y", "top"], ["c", "own", "y", "top"]]
    error = failure(engine, write_csv(tmp_path / "a.csv", lines), show_values=True)
    assert (error.level, error.count) == (1, 1)
    assert str(error).endswith("1 label at level 1 of its hierarchy has more than one parent: 'shared'")


def test_a_top_of_two_labels_with_a_star_among_them(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    error = failure(engine, write_csv(tmp_path / "a.csv", [["a", "*"], ["b", "other"]]))
    assert "the top of its hierarchy, level 1, has 2 labels and '*' is one of them" in str(error)
    create(engine, ["ref"], {"q": "text", "up": "text"}, [["a", "*"], ["b", "other"]])
    assert failure(engine, {"table": {"name": "ref", "levels": ["q", "up"]}}).count == 2


def test_cycles(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    error = failure(engine, write_csv(tmp_path / "a.csv", [["a", "b", "c"], ["b", "a", "c"]]))
    assert "2 labels of its hierarchy are their own ancestors" in str(error)
    assert built(engine, write_csv(tmp_path / "b.csv", [["a", "a", "c"], ["b", "b", "c"]]))[0] == ("a", "a", "c")


def test_a_column_of_nulls_alone(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text", "d": "date", "i": "int"}, [[None, None, None]] * 3)
    create(engine, ["ref"], {"q": "text", "up": "text"}, [])
    of_text: list[Any] = [{"mask": {"steps": [2]}}, {"mask": {"length": 5}}, None, {"tree": {"x": ["a"]}}]
    for hierarchy in of_text:
        with stored(engine, spec_of({"q": hierarchy})) as made:
            assert made.hierarchies[0].values == 0
            assert made.hierarchies[0].top
    of_all: list[tuple[str, Any]] = [
        ("d", {"date": ["year"]}),
        ("i", {"interval": {"widths": [5]}}),
        ("i", {"sql": ["i", "i + 1"]}),
        ("q", {"table": {"name": "ref", "levels": ["q", "up"]}}),
    ]
    for name, hierarchy in of_all:
        with stored(engine, spec_of({name: hierarchy})) as made:
            assert (made.hierarchies[0].values, made.hierarchies[0].table.leaves) == (0, 1)


def test_nothing_is_left_behind(engine: Engine, tmp_path: Path) -> None:
    create(engine, ["t"], {"q": "text"}, [["a"]])
    with stored(engine, spec_of({"q": {"tree": {"x": ["a"]}}})):
        pass
    failure(engine, {"tree": {"x": ["b"]}})
    found = rows(engine, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sqlanon%'")
    assert found == []


# -- random trees ----------------------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a proper hierarchy: each level maps the labels of the one below."""
    leaves = draw(st.integers(1, 8))
    depth = draw(st.integers(1, 4))
    paths = [[f"v{leaf}"] for leaf in range(leaves)]
    below = {f"v{leaf}" for leaf in range(leaves)}
    for level in range(1, depth + 1):
        parent = {label: f"l{level}_{draw(st.integers(0, max(0, len(below) - 1)))}" for label in sorted(below)}
        for path in paths:
            path.append(parent[path[-1]])
        below = set(parent.values())
    return paths


@pytest.mark.no_cover
@FEW
@given(lines=trees(), data=st.data())
def test_codes_of_random_trees_are_a_proper_coarsening(
    engine: Engine, tmp_path: Path, lines: list[list[str]], data: st.DataObject
) -> None:
    used = data.draw(st.lists(st.sampled_from([line[0] for line in lines]), min_size=1))
    run(engine, "DROP TABLE IF EXISTS t")
    create(engine, ["t"], {"q": "text"}, [[value] for value in used])
    with stored(engine, spec_of({"q": write_csv(tmp_path / "tree.csv", lines)})) as made:
        [item] = made.hierarchies
        tops = {line[-1] for line in lines}
        assert item.height == len(lines[0]) - (1 if len(tops) == 1 else 0)
        assert item.table.leaves == len(lines)
        assert item.values == len(set(used))
        assert_codes_follow_labels(engine, item)
        codes = ", ".join(f'"code_{level}"' for level in range(item.height))
        found = rows(engine, f"SELECT {codes} FROM {quoted(*item.table.table.parts)}")
        for level in range(1, item.height):
            assert len({(row[level - 1], row[level]) for row in found}) == len({row[level - 1] for row in found})
