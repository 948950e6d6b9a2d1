# SPDX-License-Identifier: Apache-2.0
"""`assay nightly run`: runs the campaign, adds the run to the history and judges it.

A night that cannot run is kept in the history with its reason. Those whom the history names are
notified.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from assay.cli.history_judging import judge
from assay.nightly.notifying import Notice, Notifier
from assay.run.start import start_run
from assay.schema import load_campaign
from records.errors import AssayError
from records.history.model import Missed
from records.history.store import Store
from records.run_directory import open_run
from records.withheld import masked
from reports.nightly.night import read_night


def run(arguments: argparse.Namespace) -> int:
    """Run the night; gives the exit status of its judgement."""
    notifier = Notifier(arguments.history)  # first: no job gets the addresses
    try:
        status = start_run(arguments.campaign, arguments.site, False)
    except Exception as error:
        missed = _keep_reason(arguments, str(error) or type(error).__name__)
        title = f"{missed.campaign} on {missed.site}: no night"
        notifier.send([Notice("silence", title, f"{missed.date} UTC: {masked(missed.reason)}")])
        raise
    night, values = read_night(open_run(status.run_id).path)
    with Store(arguments.history, create=True) as store:
        store.add(night, values)
        return judge(store, night.site, night.campaign, arguments, notifier)


def _keep_reason(arguments: argparse.Namespace, reason: str) -> Missed:
    """Keep in the history that the night could not run; what ended it is what is reported."""
    site, campaign = arguments.site.partition(":")[0], Path(arguments.campaign).stem
    with suppress(AssayError):
        campaign = load_campaign(arguments.campaign).name
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    missed = Missed(site, campaign, now, reason)
    try:
        with Store(arguments.history, create=True) as store:
            store.add_missed(missed)
    except AssayError as error:
        print(f"assay: the night's failure is not in the history: {error}", file=sys.stderr)
    return missed
