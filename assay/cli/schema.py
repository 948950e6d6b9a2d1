# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints."""

from __future__ import annotations

import argparse
import json
from typing import Any

from assay.criteria.loading import criteria_schema
from assay.schema import campaign_schema
from assay.sites.json_schema import key_tables, site_schema
from records.errors import AssayError, ExitStatus
from records.forms import key_table

_WRITTEN = {"campaign": campaign_schema, "criteria": criteria_schema, "site": site_schema}


def schema_command(arguments: argparse.Namespace) -> int:
    """`assay schema`: print a schema, or the tables of its keys."""
    from assay.json_schemas import FORMS, form_schema  # slow: the analysis of runs

    of = arguments.of
    known = [*_WRITTEN, "forms", *FORMS]
    if of not in known:
        raise AssayError(f"OF: found {of!r}; allowed are {', '.join(known)}")
    if arguments.markdown:
        if of != "site" and of not in FORMS:
            forms = ", ".join(FORMS)
            raise AssayError(f"--markdown: allowed with `schema site` and {forms}; not with {of}")
        print(key_tables() if of == "site" else key_table(form_schema(of)))
        return ExitStatus.PASS
    if of == "forms":
        print(*FORMS, sep="\n")
        return ExitStatus.PASS
    schema = _WRITTEN[of]() if of in _WRITTEN else form_schema(of)
    print(_line_a_definition(schema) if of == "campaign" else _text(schema, indent=2))
    return ExitStatus.PASS


def _text(node: Any, indent: int | None = None) -> str:
    return json.dumps(node, indent=indent, ensure_ascii=False)


def _line_a_definition(schema: dict[str, Any]) -> str:
    """A large schema as text: four times as small as with a line a key."""
    definitions = (f"{_text(name)}: {_text(one)}" for name, one in schema["$defs"].items())
    parts = {name: _text(part) for name, part in schema.items()}
    parts["$defs"] = "{\n  " + ",\n  ".join(definitions) + "\n }"
    return "{\n " + ",\n ".join(f"{_text(name)}: {text}" for name, text in parts.items()) + "\n}"
