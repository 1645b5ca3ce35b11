"""Hooks of mkdocs: the order of docs/index.md, the pages that lie beside docs, and links that a site can follow.

Links to files of the repository that are no pages keep their text alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the repository that the site has too."""
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """The navigation: the sections and links of the index, in their order."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    sections: list[dict[str, Any]] = [{"Overview": ["index.md"]}]
    seen = {"index.md"}
    for part in index.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        pages = []
        for _, target in LINK.findall(body):
            place = _place((ROOT / "docs" / target.partition("#")[0]).resolve())
            if place is not None and place not in seen:
                seen.add(place)
                pages.append(place)
        sections.append({title.partition(":")[0]: pages})
    records = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "adr").glob("0*.md"))
    config["nav"] = [*sections, {"Decisions": [page for page in records if page not in seen]}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """The pages beside docs, as pages of the site."""
    for name in BESIDE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links by the places that pages have on the site; code stays as it is."""
    uri = page.file.src_uri
    source = ROOT / uri.removeprefix("project/") if uri.startswith("project/") else ROOT / "docs" / uri

    def followed(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return match[0]
        place = _place((source.parent / path).resolve())
        if place is None:
            return text
        return f"[{text}]({os.path.relpath(place, Path(uri).parent)}{mark}{anchor})"

    parts = CODE.split(markdown)
    return "".join(part if part.lstrip().startswith("```") else LINK.sub(followed, part) for part in parts)


def _place(path: Path) -> str | None:
    """Where a file of the repository lies on the site; None where it is not on it."""
    if path.parent == ROOT and path.name in BESIDE:
        return f"project/{path.name}"
    docs = ROOT / "docs"
    if path.is_file() and docs in path.parents:
        return path.relative_to(docs).as_posix()
    return None
