# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints."""

from __future__ import annotations

import argparse
import json
import sys

from assay.cli.options import add_checks
from assay.criteria.json_schema import criteria_schema
from assay.machine.register import FORMS, form_schema
from assay.schema import campaign_schema
from assay.sites.json_schema import key_tables, site_schema
from records.errors import AssayError, ExitStatus

_WRITTEN = {"campaign": campaign_schema, "criteria": criteria_schema, "site": site_schema}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("of", nargs="?", choices=[*_WRITTEN, "forms", *FORMS], default="campaign")
    text = "the keys of a site.yaml as tables, in place of the schema"
    parser.add_argument("--markdown", action="store_true", help=text)
    add_checks(parser)
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> int:
    if arguments.markdown:
        if arguments.of != "site":
            raise AssayError(f"--markdown: allowed with `schema site`, not with {arguments.of}")
        print(key_tables())
        return ExitStatus.PASS
    of = arguments.of
    if of == "forms":
        print(*FORMS, sep="\n")
        return ExitStatus.PASS
    schema = _WRITTEN[of]() if of in _WRITTEN else form_schema(of)
    json.dump(schema, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return ExitStatus.PASS
