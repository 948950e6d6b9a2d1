# SPDX-License-Identifier: Apache-2.0
"""The option `--pictures` that several commands share: their pictures taken out, for slides."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path


def add_pictures(parser: argparse.ArgumentParser, of: str, *, only: bool = False) -> None:
    """--pictures DIR."""
    head = f"write only the pictures {of}" if only else f"write the pictures {of} too,"
    text = f"{head} into DIR, each as SVG and PNG with caption and footer"
    parser.add_argument("--pictures", metavar="DIR", type=Path, help=text)


def tell_pictures(written: Iterable[Path], *, as_json: bool) -> None:
    """Print the files; standard output of a machine form holds nothing else."""
    for path in written:
        print(path, file=sys.stderr if as_json else sys.stdout)
