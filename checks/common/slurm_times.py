# SPDX-License-Identifier: Apache-2.0
"""Durations as Slurm takes and prints them."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$")


def seconds_of(text: str) -> int | None:
    """Seconds of D-HH:MM:SS, HH:MM:SS, MM:SS or minutes; None for no limit."""
    found = _TIME.match(text.strip())
    if not found:
        return None
    days, first, second, third = found.groups()
    if days is not None:
        hours, minutes, seconds = first, second or 0, third or 0
    elif third is not None:
        hours, minutes, seconds = first, second, third
    else:
        hours, minutes, seconds = 0, first, second or 0
    return int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
