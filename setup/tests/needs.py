# SPDX-License-Identifier: Apache-2.0
"""Tests that need programs of Debian packages, or HPL's source."""

import shutil
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parents[2] / "build/sources/hpcc_1.5.0.orig.tar.gz"
NEEDS_HPL = pytest.mark.skipif(not ARCHIVE.is_file(), reason="needs HPL's source: make hpl-source")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test where programs are missing, with the command that installs them."""
    missing = ", ".join(one for one in programs if shutil.which(one) is None)
    return pytest.mark.skipif(bool(missing), reason=f"needs {missing}: make packages, as root")
