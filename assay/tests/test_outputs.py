# SPDX-License-Identifier: Apache-2.0
"""Short commands have neither the caller's terminal nor its standard input."""

from __future__ import annotations

import os
import pty
import sys

from assay.commands import output_of

_SHOW = "import os; print(os.getsid(0) == os.getpid(), os.readlink('/proc/self/fd/0'))"


def test_a_short_command_cannot_reach_the_callers_terminal() -> None:
    pid, master = pty.fork()
    if pid == 0:
        alone = output_of([sys.executable, "-c", _SHOW])
        os._exit(0 if alone == "True /dev/null" else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(master)
