"""The pages on privacy models: their examples load, and no model goes without a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon.spec import load_spec
from sqlanon.spec.privacy import MODELS, Privacy

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "privacy"
RECORDS = ROOT / "docs" / "adr"
REFERENCE = ROOT / "sql" / "reference"
OVERVIEW = "index.md"
NOT_OF_CLASSES = {"personalized.md", "differential.md", "series.md", "adversary.md", "pseudonyms.md"}
"""Pages that are about something else than a model of classes."""
PAGES = sorted({path.name for path in DOCS.glob("*.md")} - NOT_OF_CLASSES)

PAGE_OF = {
    "k": "k-anonymity.md",
    "anonymity": "k-anonymity-revisited.md",
    "l_diversity": "l-diversity.md",
    "t_closeness": "t-closeness.md",
    "alpha": "alpha-k.md",
    "p_sensitive": "p-sensitive.md",
    "beta_likeness": "beta-likeness.md",
    "delta_disclosure": "delta-disclosure.md",
    "k_map": "k-map.md",
    "delta_presence": "delta-presence.md",
    "quasi_identifiers": "several-quasi-identifiers.md",
    "other_sensitive": "several-quasi-identifiers.md",
    "profile": "several-quasi-identifiers.md",
}
NO_MODEL = {"suppression", "population"}
"""Keys of `privacy` that ask for nothing by themselves."""
OWN_PAGE = {"personalized": "personalized.md", "differential": "differential.md", "adversary": "adversary.md"}
"""What classes are not judged by: every row by its own, or the way in which the whole release was made."""
OF_RECIPIENTS = {"intersection.sql"}

BASE: dict[str, Any] = {
    "source": "raw.patients",
    "target": "release.patients",
    "columns": {"zip": {"role": "quasi_identifier"}, "disease": {"role": "sensitive"}},
}
"""What a spec needs beside an example that leaves it out."""


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def examples(page: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def links(page: str) -> list[str]:
    return re.findall(r"\]\(([^)#:]+)[^)]*\)", text_of(page))


@pytest.mark.parametrize(("page", "number"), [(page, n) for page in PAGES for n, _ in enumerate(examples(page))])
def test_the_example_is_part_of_a_spec(page: str, number: int, tmp_path: Path) -> None:
    block = examples(page)[number]
    missing = {key: value for key, value in BASE.items() if key not in yaml.safe_load(block)}
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(missing) + block, encoding="utf-8")
    spec = load_spec(path)
    assert spec.privacy.asks_for_k or spec.privacy.beyond_k


def test_every_model_has_a_page() -> None:
    asked = set(Privacy.model_fields) - NO_MODEL - set(OWN_PAGE)
    assert set(PAGE_OF) == asked, "each key that asks for something has its page in PAGE_OF"
    assert set(MODELS) <= set(PAGE_OF)
    assert set(PAGE_OF.values()) | {OVERVIEW, "respondents.md"} == set(PAGES)


@pytest.mark.parametrize("page", [page for page in PAGES if page != OVERVIEW])
def test_a_page_says_what_belongs_to_a_model(page: str) -> None:
    text = text_of(page)
    assert page in links(OVERVIEW)
    assert "```yaml" in text
    assert re.search("protects? against", text, re.IGNORECASE), "the page says what the model protects against"
    assert "../../tests/privacy/test_monotonicity.py" in links(page)
    assert any(link.startswith("../../sql/reference/") for link in links(page)), "the page links its reference SQL"
    assert re.search(r"\b(19|20)\d\d\b|chapter", text), "the page names the paper and its year, or the chapter"


@pytest.mark.parametrize(("key", "page"), OWN_PAGE.items())
def test_a_page_of_its_own_is_linked_and_shows_its_key(key: str, page: str) -> None:
    assert page in links(OVERVIEW)
    assert f"privacy:\n  {key}:" in text_of(page)


@pytest.mark.parametrize(("key", "page"), PAGE_OF.items())
def test_a_page_shows_its_key(key: str, page: str) -> None:
    assert any(key in yaml.safe_load(block)["privacy"] for block in examples(page))


def test_the_differential_example_is_a_spec(tmp_path: Path) -> None:
    [block] = examples("differential.md")
    (tmp_path / "spec.yaml").write_text(block, encoding="utf-8")
    assert load_spec(tmp_path / "spec.yaml").privacy.differential is not None


def test_every_reference_file_belongs_to_a_page() -> None:
    linked = {link.rpartition("/")[2] for page in PAGES for link in links(page) if "/sql/reference/" in link}
    assert linked == {path.name for path in REFERENCE.glob("*.sql")} - OF_RECIPIENTS


def test_every_record_is_listed() -> None:
    listed = re.findall(r"\]\(([^)#:]+)\)", (RECORDS / "README.md").read_text(encoding="utf-8"))
    assert set(listed) == {path.name for path in RECORDS.glob("0*.md")}
