# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write, and of what `--json` prints."""

from __future__ import annotations

import argparse
import json
import sys

from assay.cli.options import add_checks
from assay.criteria.json_schema import criteria_schema
from assay.machine.register import FORMS, form_schema, key_table
from assay.schema import campaign_schema
from assay.sites.json_schema import key_tables, site_schema
from records.errors import AssayError, ExitStatus

_WRITTEN = {"campaign": campaign_schema, "criteria": criteria_schema, "site": site_schema}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    known = [*_WRITTEN, "forms", *FORMS]
    text = f"default: campaign; {', '.join(known)}"
    parser.add_argument("of", metavar="OF", nargs="?", choices=known, default="campaign", help=text)
    text = "the keys of a site.yaml, or of a form, as tables in place of the schema"
    parser.add_argument("--markdown", action="store_true", help=text)
    add_checks(parser)
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> int:
    of = arguments.of
    if arguments.markdown:
        if of != "site" and of not in FORMS:
            forms = ", ".join(FORMS)
            raise AssayError(f"--markdown: allowed with `schema site` and {forms}; not with {of}")
        print(key_tables() if of == "site" else key_table(of))
        return ExitStatus.PASS
    if of == "forms":
        print(*FORMS, sep="\n")
        return ExitStatus.PASS
    schema = _WRITTEN[of]() if of in _WRITTEN else form_schema(of)
    json.dump(schema, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return ExitStatus.PASS
