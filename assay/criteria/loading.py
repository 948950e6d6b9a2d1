# SPDX-License-Identifier: Apache-2.0
"""From the --criteria of a command line to validated criteria, or one message with every fault."""

from __future__ import annotations

import re
from pathlib import Path

from assay.criteria.rules import criteria_problems
from assay.schema.document import clipped, read_text
from assay.schema.problems import checked, did_you_mean, listed
from assay.shipped import CRITERIA, criteria_names
from records.criteria import Criteria
from records.errors import AssayError
from records.sections import NAME_PATTERN

_NEEDS = "a criteria file needs at least schema, name, title and criteria"


def load_criteria(name_or_path: str) -> tuple[Criteria, str]:
    """The criteria of a name in `campaigns/criteria/` or of a file, and the file's text.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = _find(name_or_path)
    text = read_text(path)
    return criteria_from_text(str(path), text), text


def criteria_from_text(file: str, text: str) -> Criteria:
    """The criteria of a text; `file` is its name for messages. Raises as `load_criteria`."""
    return Criteria.model_validate(checked(file, text, _NEEDS, criteria_problems).value)


def _find(name_or_path: str) -> Path:
    shipped = CRITERIA / f"{name_or_path}.yaml"
    if re.fullmatch(NAME_PATTERN, name_or_path) and shipped.is_file():
        return shipped
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
    except (OSError, ValueError):  # a name that no file can have
        pass
    names = criteria_names()
    raise AssayError(
        f"no criteria {clipped(name_or_path)!r}{did_you_mean(name_or_path, names)}: it is neither"
        f" a name in campaigns/criteria/ ({listed(names)}) nor a file"
    )
