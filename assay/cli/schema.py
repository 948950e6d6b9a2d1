# SPDX-License-Identifier: Apache-2.0
"""`assay schema`: print the JSON Schema of what people write."""

from __future__ import annotations

import argparse
import json
import sys

from assay.cli.options import add_checks
from assay.criteria.json_schema import criteria_schema
from assay.schema import campaign_schema
from records.errors import ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("of", nargs="?", choices=["campaign", "criteria"], default="campaign")
    add_checks(parser)
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> int:
    schema = criteria_schema() if arguments.of == "criteria" else campaign_schema()
    json.dump(schema, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return ExitStatus.PASS
