# SPDX-License-Identifier: Apache-2.0
"""A campaign without foreign tests and commands loads nothing that only these need."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

FOREIGN = re.compile(
    r"checks\.common\.(foreign|command\.|reframe_tests\.)|assay\.plan\.suite_cases"
    r"|assay\.schema\.command|assay\.screens\.(suite_listing|try_output)"
    r"|records\.history\.import|reports\.load\.reframe|reports\.verdicts\.(survey|reframe_export)"
)
PLAN = "from assay.cli.main import main; main(['plan', 'quick', '--site', 'virtual'])"
NIGHT = "import assay.cli.nightly, assay.cli.campaign, assay.run.start, assay.run.session"
SESSION = "import checks.common.session.command_line, checks.common.session.launches"


@pytest.mark.parametrize("code", [PLAN, NIGHT, SESSION], ids=["plan", "night", "session"])
def test_a_campaign_without_suites_loads_nothing_of_theirs(code: str) -> None:
    text = f"{code}; import sys; print('loaded:', *sys.modules)"
    command = [sys.executable, "-P", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *_, loaded = done.stdout.split("loaded: ")
    assert "checks.common.registry" in loaded.split()
    assert not [name for name in loaded.split() if FOREIGN.match(name)]
