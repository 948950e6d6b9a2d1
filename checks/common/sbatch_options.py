# SPDX-License-Identifier: Apache-2.0
"""What the options say with which every job of a site is submitted."""

from __future__ import annotations

import re
from collections.abc import Iterable


def option_values(access: Iterable[str], name: str, letter: str) -> list[str]:
    """What options of sbatch give an option, in any notation; the last one counts."""
    form = rf"(?:^|\s)(?:--{name}[=\s]\s*|-{letter}\s*)['\"]?([^\s'\"]+)"
    return re.findall(form, " ".join(access))
