# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of criteria files, for editors; `make schema` writes the shipped file again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from records.criteria import Criteria

SCHEMA_FILE = (
    Path(__file__).resolve().parents[2] / "campaigns" / "criteria" / "criteria.schema.json"
)


def criteria_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key.

    Names of checks and metrics are not in it, only `load_criteria` knows them: a new check does not
    change the schema.
    """
    schema = Criteria.model_json_schema(by_alias=True)
    schema["title"] = "Assay criteria"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
