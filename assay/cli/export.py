# SPDX-License-Identifier: Apache-2.0
"""`assay export`: a run or a history for monitoring."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.options import add_site
from records.history import DEFAULT_HISTORY

FORMATS = ("openmetrics", "influx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source",
        metavar="RUN",
        nargs="?",
        default=str(DEFAULT_HISTORY),
        help=f"a run directory, a run id, or a history; default: {DEFAULT_HISTORY}",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default=FORMATS[0], help="default: %(default)s"
    )
    parser.add_argument(
        "--every", action="store_true", help="of a run all metrics, not the deciding ones alone"
    )
    text = "of a history only this one; default: all"
    parser.add_argument("--campaign", metavar="CAMPAIGN", help=text)
    add_site(parser, None, text)
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write it there, whole or not at all"
    )
    parser.set_defaults(run="assay.cli.export_run:run")
