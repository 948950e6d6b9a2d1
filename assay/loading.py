# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while modules are loaded, when there is nothing yet to keep or to tidy up."""

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
