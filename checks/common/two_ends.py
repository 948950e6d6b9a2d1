# SPDX-License-Identifier: Apache-2.0
"""Programs with two ends over TCP or PVM, started on two hosts by programs of ours."""

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

    @host and @port in the words stand for the address of the listening end.
    """
    return [program, *both, "@listening", *listening, "@other", *other]
