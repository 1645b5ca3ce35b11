"""The papers' attacks on their own tables, on the source and on the release; and the lookups against brute force."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sqlanon import insight, pipeline
from sqlanon.errors import SqlanonError, UsageError
from sqlanon.insight import AttackOptions
from sqlanon.insight.adversary import Attack, AttackResult
from sqlanon.spec import Spec
from tests.kit import attacks
from tests.kit.database import Database

VOTERS = AttackOptions(external="voters", columns={"dob": "born"})


def released(spec: Spec, asked: AttackOptions = insight.PLAIN_ATTACK) -> AttackResult:
    """Publish, then attack."""
    pipeline.run(spec)
    return insight.attack(spec, asked=asked)


def both(attack: Attack, figure: str) -> tuple[object, object]:
    return tuple(None if side is None else side.figures[figure] for side in (attack.before, attack.after))  # type: ignore[return-value]  # a release stands


@pytest.mark.one_engine
@pytest.mark.representative(1)
@pytest.mark.parametrize("limit", [0, 1])
def test_the_voter_of_figure_1_is_found_in_the_table_and_not_in_the_release(engine_url: str, limit: int) -> None:
    """Samarati 2001, section 1: Sue J. Carlson is the only one; limit 0 generalizes her row, limit 1 suppresses it."""
    spec = attacks.figure_1(engine_url, limit)
    raw = insight.attack(spec, asked=AttackOptions(external="voters", columns={"dob": "born"}, names="name"))
    assert raw.names == ("Sue J. Carlson",)
    assert raw.notes
    result = released(spec, AttackOptions(external="voters", columns={"dob": "born"}, names="name"))
    linking = result.of("linking")
    assert both(linking, "people") == (5, 5)
    assert both(linking, "unique") == (1, 0)
    assert both(linking, "certain") == (1, 0)
    assert result.names == ()
    assert not any(name in str(result.to_dict()) for name, *_ in attacks.VOTERS)
    # Both generalizations of limit 0 keep her row among others; limit 1 lets it go, and her absence shows.
    assert linking.after is not None
    assert (linking.after.figures["matched"] > 0) == (limit == 0)  # type: ignore[operator]  # a release stands
    assert result.of("missing").after.figures["recognized"] == limit  # type: ignore[union-attr]  # a release stands


@pytest.mark.one_engine
def test_homogeneity_of_figure_18(engine_url: str) -> None:
    """One of the three classes is 1-diverse: three women who have been married, all with hypertension."""
    result = released(attacks.figure_18(engine_url))
    attack = result.of("homogeneity", "disease")
    assert both(attack, "certain")[1] == 3
    assert both(attack, "certain_classes")[1] == 1
    assert both(attack, "rows") == (10, 9)
    # By hand on Figure 1: every class but the two rows of 22032 single M is of one value.
    assert both(attack, "certain")[0] == 8
    # Bob: obesity or HIV; whoever knows that he is thin knows that it is HIV.
    assert both(result.of("background", "disease"), "certain") == (10, 9)


@pytest.mark.one_engine
def test_skewness_and_similarity_of_figure_19(engine_url: str) -> None:
    """Diabetes Y is 2/3 in one class and 3/9 overall; its cholesterol lies in 250..260, of 190..285."""
    result = released(attacks.figure_19(engine_url), AttackOptions(similar=Decimal("0.11")))
    after = result.of("skewness", "diabetes").after
    assert after is not None
    assert after.figures["gain"] == pytest.approx(1 / 3)
    assert (after.figures["share"], after.figures["whole"]) == pytest.approx((2 / 3, 3 / 9))
    assert after.figures["ratio"] == pytest.approx(2)
    similar = result.of("similarity", "cholesterol").after
    assert similar is not None
    assert (similar.figures["similar"], similar.figures["similar_classes"]) == (3, 1)
    assert similar.figures["narrowest"] == pytest.approx(10 / 95)
    # Two values each, so nobody is certain: the table is 2-diverse.
    assert both(result.of("homogeneity", "diabetes"), "certain")[1] == 3
    assert any("'diabetes'" in note for note in result.notes)


@pytest.mark.one_engine
def test_background_knowledge_of_the_slides(engine_url: str) -> None:
    """Carol is a black woman: short breath. Helen is a white woman who runs: chest pain."""
    result = released(attacks.slide(engine_url), AttackOptions(excluded=(0, 1, 2)))
    assert both(result.of("homogeneity"), "certain")[1] == 4
    found = [item.after.figures for item in result.attacks if item.name == "background" and item.after]
    # Nobody excluded: the men and the black women. One: the white women too. Two: everybody, asian women among them.
    assert [figures["certain"] for figures in found] == [4, 6, 9]
    assert found[1]["highest"] == 1


@pytest.mark.one_engine
def test_similarity_by_the_taxonomy(engine_url: str) -> None:
    """Ulcer and gastritis are both of the stomach (slides, similarity attack)."""
    spec = attacks.slide(
        engine_url,
        hierarchy={
            "tree": {
                "any": {
                    "lung": ["short breath", "chest pain"],
                    "weight": ["obesity"],
                    "blood": ["hypertension"],
                }
            }
        },
    )
    attack = released(spec).of("similarity", "disease")
    assert attack.headline == "level_1"
    # White women: chest pain and short breath, both of the lung. Asian women have three kinds, the others one value.
    assert both(attack, "level_1")[1] == 2
    assert both(attack, "level_1_classes")[1] == 1


def test_two_releases_together(engine_url: str) -> None:
    """Each release is 2-diverse; whoever is in both is left with the one value that they share."""
    database = Database(engine_url)
    types = {"zip": "text", "sex": "text", "disease": "text"}
    database.create("patients", types, [("94138", "F", "flu"), ("94139", "F", "ulcer"), ("94141", "F", "HIV")])
    database.create("released", types, [("9413*", "F", "flu"), ("9413*", "F", "ulcer"), ("94141", "F", "HIV")])
    database.create("other", types, [("94138", "*", "flu"), ("94138", "*", "HIV"), ("9414*", "*", "HIV")])
    spec = attacks.spec_of(
        engine_url,
        "patients",
        {
            "zip": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "../hierarchies/zip.csv"}}},
            "sex": {"role": "quasi_identifier"},
            "disease": {"role": "sensitive"},
        },
        k=1,
        limit=0,
    )
    after = insight.attack(spec, asked=AttackOptions(release="other")).of("intersection").after
    assert after is not None
    # 94138 is in both: flu or ulcer there, flu or HIV here. 94139 is in the first only. 94141 is known from either.
    assert after.figures == {
        "people": 2,
        "certain_first": 1,
        "certain_second": 1,
        "certain": 2,
        "impossible": 0,
        "fewest": 1,
    }
    assert after.sql.startswith("WITH")


def test_blanked_rows_may_be_anybody(duckdb_url: str) -> None:
    """A person who matches no class is one of the rows without a quasi-identifier: so many candidates."""
    spec = attacks.figure_1(duckdb_url, 3)
    spec = attacks.spec_of(
        duckdb_url,
        "medical",
        {name: column.model_dump(exclude_unset=True) for name, column in spec.columns.items()},
        k=2,
        limit=3,
    )
    blank = spec.model_copy(
        update={
            "privacy": spec.privacy.model_copy(
                update={"suppression": spec.privacy.suppression.model_copy(update={"mode": "blank"})}
            )
        }
    )
    pipeline.run(blank)
    result = insight.attack(blank, asked=VOTERS)
    published = Database(duckdb_url).run("SELECT count(*) FROM released WHERE race = '*' AND sex = '*'")[0][0]
    minimality = result.of("missing").after
    assert minimality is not None
    assert minimality.figures["blanked"] == published


def test_labels_that_no_hierarchy_knows_are_refused(duckdb_url: str) -> None:
    """They would match nobody and look safe. What needs no match is measured all the same."""
    spec = attacks.figure_18(duckdb_url)
    pipeline.run(spec)
    Database(duckdb_url).run("UPDATE released SET zip = 'nowhere' WHERE zip = '2203*'")
    with pytest.raises(
        UsageError, match="column 'zip': 6 rows of released have a label that is neither in its hierarchy"
    ):
        insight.attack(spec, asked=AttackOptions(external="patients"))
    result = insight.attack(spec)
    names = {"homogeneity", "background", "skewness", "downcoding", "inference"}
    assert {item.name for item in result.attacks} == names
    assert result.of("downcoding").after.figures["unread"] == 6  # type: ignore[union-attr]  # a release stands
    assert "missing was not measured: column 'zip': 6 rows" in result.notes[-1]


def test_what_is_refused(duckdb_url: str) -> None:
    spec = attacks.figure_1(duckdb_url, 1)
    for asked, message in (
        (AttackOptions(external="voters", columns={"nothing": "born"}), "'nothing' is no column"),
        (AttackOptions(external="voters", columns={"dob": "nothing"}), "no column 'nothing' for 'dob'"),
        (AttackOptions(external="voters", columns={"dob": "name"}), "holds text values"),
        (AttackOptions(external="missing"), "missing"),
        (AttackOptions(names="name"), "--external"),
        (AttackOptions(release="voters"), "no release yet"),
    ):
        with pytest.raises(SqlanonError, match=message):
            insight.attack(spec, asked=asked)
