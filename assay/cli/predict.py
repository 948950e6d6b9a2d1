# SPDX-License-Identifier: Apache-2.0
"""`assay predict`: time and efficiency of what a run measured, on node counts not measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.options import add_json, add_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_run(parser, optional=True)
    parser.add_argument(
        "--nodes", metavar="N", type=int, action="append", default=[], help="may be repeated"
    )
    parser.add_argument(
        "--leave-out",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="predict this measured node count from the others, against the measurement; may be"
        " repeated",
    )
    parser.add_argument(
        "--environment", metavar="NAME", action="append", default=[], help="may be repeated"
    )
    parser.add_argument(
        "--check",
        metavar="NAME",
        action="append",
        default=[],
        help="predict su3_rmd, hpl or collectives alone; may be repeated",
    )
    parser.add_argument(
        "--pictures", metavar="DIR", type=Path, help="write pictures into DIR, as SVG and PNG"
    )
    add_json(parser)
    parser.set_defaults(run="assay.cli.predict_run:run")
