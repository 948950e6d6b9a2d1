# SPDX-License-Identifier: Apache-2.0
"""Machine forms held against the schemas in docs/schemas."""

import json
from typing import Any

import jsonschema

from assay.cli.schema import FOLDER


def published(form: str, text: str | bytes) -> Any:
    """The object of a text that is valid by the published schema of a form."""
    found = json.loads(text)
    schema = json.loads((FOLDER / f"{form}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found
