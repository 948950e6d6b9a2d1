# SPDX-License-Identifier: Apache-2.0
"""`assay nightly run`: runs the campaign, adds the run to the history and judges it."""

from __future__ import annotations

import argparse

from assay.cli.history_judging import judge
from assay.run.start import start_run
from records.history.store import Store
from records.run_directory import open_run
from reports.nightly.night import read_night


def run(arguments: argparse.Namespace) -> int:
    """Run the night; gives the exit status of its judgement."""
    status = start_run(arguments.campaign, arguments.site, False)
    night, values = read_night(open_run(status.run_id).path)
    with Store(arguments.history, create=True) as store:
        store.add(night, values)
        return judge(store, night.site, night.campaign, arguments)
