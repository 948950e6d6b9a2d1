# SPDX-License-Identifier: Apache-2.0
"""A shell of a cluster at a terminal."""

import os
import signal
import subprocess
import sys

from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import NEEDS_CLUSTER

pytestmark = NEEDS_CLUSTER
SCRIPT = "trap 'sleep 1; echo caught; exit 3' INT; echo begun; while :; do sleep 0.1; done"


def test_what_a_terminal_interrupts_is_the_command_alone(shared: Cluster) -> None:
    words = [sys.executable, "-m", "virtual_cluster", "shell", "--name", shared.name]
    with subprocess.Popen(
        [*words, "--", "sh", "-c", SCRIPT],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "begun\n"
        os.killpg(shell.pid, signal.SIGINT)
        assert shell.stdout.read() == "caught\n"
    assert shell.returncode == 3
