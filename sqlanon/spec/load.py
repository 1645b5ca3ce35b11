"""Loading a spec: from a YAML file or from Python values, with every problem reported at once.

Reads the spec file and the environment; hierarchy files are read later, by their builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sqlanon.errors import SpecError
from sqlanon.spec.document import read_document
from sqlanon.spec.environment import expand
from sqlanon.spec.problems import findings_of, written_path
from sqlanon.spec.refusals import Finding
from sqlanon.spec.release import Spec
from sqlanon.spec.schema import keys_at


def load_spec(path: str | Path) -> Spec:
    """The spec in a YAML file. SpecError lists every problem as `file:line: key.path: message`."""
    document = read_document(_text(Path(path)))
    if document.value is None and not document.findings:
        raise SpecError(f"{path}:1: the spec is empty")
    _refuse_lock(document.value, Path(path))
    findings = list(document.findings)
    spec = None
    if document.value is not None:
        spec, more = _validated(document.value, Path(path).parent, Path(path))
        findings += _elsewhere(more, findings)
    if spec is None or findings:
        located = sorted((document.line(key), _worded(key, message)) for key, message in _without_repeats(findings))
        raise SpecError(*(f"{path}:{line}: {problem}" for line, problem in located))
    return spec


def spec_from_dict(values: Mapping[str, Any], base: str | Path = ".") -> Spec:
    """The spec that Python values make; `base` is the folder that paths are relative to."""
    spec, findings = _validated(values, Path(base))
    if spec is None or findings:
        raise SpecError(*(_worded(key, message) for key, message in _without_repeats(findings)))
    return spec


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        problem = "no such file"
    except UnicodeDecodeError:
        problem = "the spec is not UTF-8 text"
    except OSError:
        problem = "the spec cannot be read"
    raise SpecError(f"{path}: {problem}")


def _refuse_lock(value: Any, path: Path) -> None:
    """One line for the wrong file, instead of one for each of its keys."""
    if isinstance(value, Mapping) and {"spec", "spec_hash", "recoding"} <= value.keys():
        raise SpecError(f"{path}: is a lock file, not a spec; the spec it was made from is {value['spec']}")


def _validated(values: Any, folder: Path, file: Path | None = None) -> tuple[Spec | None, list[Finding]]:
    """The spec, or what is wrong. Pydantic's exception, which holds the values, does not leave this function."""
    findings: list[Finding] = []
    expanded = expand(values, findings)
    if not isinstance(expanded, dict):
        return None, [((), "a mapping of keys is expected")]
    try:
        return Spec.model_validate(expanded, context={"folder": folder, "file": file}), findings
    except ValidationError as error:
        details = error.errors(include_url=False)
    return None, findings + _elsewhere(findings_of(details, expanded, keys_at), findings)


def _elsewhere(more: list[Finding], findings: list[Finding]) -> list[Finding]:
    """Findings at other keys: what follows from a problem already named would only distract."""
    named = {path for path, _ in findings}
    return [finding for finding in more if finding[0] not in named]


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _worded(path: tuple[str | int, ...], message: str) -> str:
    return f"{written_path(path)}: {message}" if path else message
