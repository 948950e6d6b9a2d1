# SPDX-License-Identifier: Apache-2.0
"""Entry point of `assay`, quick to load itself; Ctrl-C while modules are loaded."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Within this Ctrl-C ends the process at once, by the signal and without a traceback.

    An exception would be raised inside of libraries, some of which make another one of it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def main() -> int:
    """Run the command line; gives the exit status."""
    with ended_by_ctrl_c():
        from assay.cli import main as run  # slow: guarded while it loads
    return run()
