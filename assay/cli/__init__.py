# SPDX-License-Identifier: Apache-2.0
"""The command line `assay`: parsing, messages, exit status. The work is done elsewhere."""

from assay.cli.main import main

__all__ = ["main"]
