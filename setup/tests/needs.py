# SPDX-License-Identifier: Apache-2.0
"""Tests that need programs of Debian packages."""

import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test where programs are missing, with the command that installs them."""
    missing = ", ".join(one for one in programs if shutil.which(one) is None)
    return pytest.mark.skipif(bool(missing), reason=f"needs {missing}: make packages, as root")
