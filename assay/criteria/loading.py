# SPDX-License-Identifier: Apache-2.0
"""From the --criteria of a command line to validated criteria, or one message with every fault;
their JSON Schema."""

from __future__ import annotations

from typing import Any

from assay import CRITERIA, criteria_files
from assay.criteria.rules import criteria_problems
from assay.schema.document import read_text
from assay.schema.loading import file_of
from assay.schema.problems import checked
from records.criteria import Criteria

SCHEMA_FILE = CRITERIA / "criteria.schema.json"
_NEEDS = "a criteria file needs at least schema, name, title and criteria"


def load_criteria(name_or_path: str) -> tuple[Criteria, str]:
    """The criteria of a name in `campaigns/criteria/` or of a file, and the file's text.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "criteria", criteria_files(), "campaigns/criteria")
    text = read_text(path)
    return criteria_from_text(str(path), text), text


def criteria_from_text(file: str, text: str) -> Criteria:
    """The criteria of a text; `file` is its name for messages. Raises as `load_criteria`."""
    return Criteria.model_validate(checked(file, text, _NEEDS, criteria_problems))


def criteria_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key, for editors.

    Names of checks and metrics are not in it, only `load_criteria` knows them: a new check does not
    change the schema.
    """
    schema = Criteria.model_json_schema(by_alias=True)
    schema["title"] = "Assay criteria"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
