# SPDX-License-Identifier: Apache-2.0
"""From the --criteria of a command line to validated criteria, or one message with every fault;
their JSON Schema."""

from __future__ import annotations

from functools import partial
from typing import Any

from assay import CRITERIA, criteria_files
from assay.criteria.rules import criteria_problems
from assay.schema.document import read_text
from assay.schema.loading import file_of
from assay.schema.problems import checked
from checks.common.registry import CHECKS, Checks
from records.criteria import Criteria

SCHEMA_FILE = CRITERIA / "criteria.schema.json"
_NEEDS = "a criteria file needs at least schema, name, title and criteria"


def load_criteria(name_or_path: str, checks: Checks = CHECKS) -> tuple[Criteria, str]:
    """The criteria of a name in `campaigns/criteria/` or of a file, and the file's text; `checks`
    are those that they may judge.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "criteria", criteria_files(), "campaigns/criteria")
    text = read_text(path)
    return criteria_from_text(str(path), text, checks), text


def criteria_from_text(file: str, text: str, checks: Checks = CHECKS) -> Criteria:
    """The criteria of a text; `file` is its name for messages. Raises as `load_criteria`."""
    problems_of = partial(criteria_problems, checks=checks)
    return Criteria.model_validate(checked(file, text, _NEEDS, problems_of))


def criteria_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key, for editors.

    Names of checks and metrics are not in it, only `load_criteria` knows them: a new check does not
    change the schema.
    """
    schema = Criteria.model_json_schema(by_alias=True)
    schema["title"] = "Assay criteria"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
