# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of criteria files, for editors: made from the model, shipped beside the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from records.criteria import Criteria

SCHEMA_FILE = (
    Path(__file__).resolve().parents[2] / "campaigns" / "criteria" / "criteria.schema.json"
)


def schema_text() -> str:
    """The text of the shipped file."""
    return json.dumps(criteria_schema(), indent=2, ensure_ascii=False) + "\n"


def criteria_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key.

    Names of checks and metrics are judged by loading only, so that the file outlives new checks.
    """
    schema = Criteria.model_json_schema(by_alias=True)
    schema["title"] = "Assay criteria"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
