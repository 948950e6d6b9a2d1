# SPDX-License-Identifier: Apache-2.0
"""Programs of two ends over TCP, which our program tcp_pair starts on the hosts of two ranks."""

from __future__ import annotations

from collections.abc import Sequence

#: Our program that starts them; MPI places its ranks and gives their evidence.
TCP_PAIR = "tcp_pair"


def two_ends(
    program: str, both: Sequence[str], listening: Sequence[str], other: Sequence[str]
) -> list[str]:
    """tcp_pair's arguments: the program's path, words for both ends, and for each.

    In the words @host and @port stand for where the listening end is.
    """
    return [program, *both, "@listening", *listening, "@other", *other]
