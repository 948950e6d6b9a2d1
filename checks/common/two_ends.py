# SPDX-License-Identifier: Apache-2.0
"""Programs of two ends over TCP or PVM, which programs of ours start on two hosts."""

from __future__ import annotations

from collections.abc import Sequence

#: Over TCP: MPI places the program's ranks and gives their evidence.
TCP_PAIR = "tcp_pair"
#: Over PVM, between two hosts of its virtual machine.
PVM_PAIR = "pvm_pair"


def two_ends(
    program: str, both: Sequence[str], listening: Sequence[str], other: Sequence[str]
) -> list[str]:
    """tcp_pair's arguments: the program's path, words for both ends, and for each.

    In the words @host and @port stand for where the listening end is.
    """
    return [program, *both, "@listening", *listening, "@other", *other]
