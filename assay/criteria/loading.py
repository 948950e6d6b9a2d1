# SPDX-License-Identifier: Apache-2.0
"""From the --criteria of a command line to validated criteria, or one message with every fault."""

from __future__ import annotations

import re
from pathlib import Path

from assay.criteria.rules import criteria_problems
from assay.schema.document import clipped, parse
from assay.schema.loading import read_text, refuse
from assay.schema.messages import did_you_mean, found, listed
from records.criteria import Criteria
from records.errors import AssayError
from records.sections import NAME_PATTERN

FOLDER = Path(__file__).resolve().parents[2] / "campaigns" / "criteria"
_NEEDS = "a criteria file needs at least schema, name, title and criteria"


def criteria_names() -> list[str]:
    """Names of the criteria files that come with Assay."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_criteria(name_or_path: str) -> tuple[Criteria, str]:
    """The criteria of a name in `campaigns/criteria/` or of a file, and the file's text.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = _find(name_or_path)
    text = read_text(path)
    return criteria_from_text(str(path), text), text


def criteria_from_text(file: str, text: str) -> Criteria:
    """The criteria a text describes; `file` is its name for messages. Raises as `load_criteria`."""
    document = parse(file, text, _NEEDS)
    if not isinstance(document.value, dict):
        raise AssayError(f"{file}:1: found {found(document.value)}; {_NEEDS}")
    refuse(document, criteria_problems(document.value))
    return Criteria.model_validate(document.value)


def _find(name_or_path: str) -> Path:
    packaged = FOLDER / f"{name_or_path}.yaml"
    if re.fullmatch(NAME_PATTERN, name_or_path) and packaged.is_file():
        return packaged
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
    except (OSError, ValueError):
        pass
    names = criteria_names()
    raise AssayError(
        f"no criteria {clipped(name_or_path)!r}{did_you_mean(name_or_path, names)}: it is neither"
        f" a name in campaigns/criteria/ ({listed(names)}) nor a file"
    )
