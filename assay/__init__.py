# SPDX-License-Identifier: Apache-2.0
"""The engine: command line, campaign files, plans, runs, sites, builds."""

from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
