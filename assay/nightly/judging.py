# SPDX-License-Identifier: Apache-2.0
"""Judges a history's nights, runs suspicious cases again, and writes what was found."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from assay.run.start import start_run
from assay.screens.pages import show_pages
from assay.terminal import say
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.files import write_whole
from records.history.store import Store
from records.run.rerun import rerun_campaign
from records.run.run_directory import open_run
from reports.render.formats import junit
from reports.verdicts.nightly.check import Checked, check_history, read_night
from reports.verdicts.nightly.result import night_result

#: Launches of each case that is run again.
RERUN_BLOCKS = 5


def judge_nights(
    store: Store,
    site: str,
    campaign: str,
    *,
    alarms_a_month: float,
    finds: float,
    rerun: bool,
    quiet: bool,
) -> tuple[Checked, AssayError | None]:
    """Judge; run suspicious cases again if asked, and say so unless `quiet`.

    A re-run that fails leaves the judgement as it was before; the error is given with it.
    """
    checked = check_history(store, site, campaign, alarms_a_month, finds)
    if rerun and checked.night.imported:
        raise AssayError("imported launches cannot be run again; leave --rerun out")
    if not rerun and checked.judgement.of("suspect") and not checked.night.imported:
        print("run suspicious cases again with: assay nightly check --rerun", file=sys.stderr)
    # First the suspects; then, on other nodes, what the re-run has just confirmed.
    for elsewhere in (False, True) if rerun else ():
        cases = {
            checked.history.series[item.series].case_id
            for item in checked.judgement.of("regression" if elsewhere else "suspect")
            if not elsewhere or (item.rerun is not None and item.elsewhere is None)
        }
        try:
            done = _run_again(store, checked, cases, elsewhere=elsewhere) if cases else ""
        except AssayError as error:
            return checked, error
        except OSError as error:
            return checked, InfrastructureError(str(error))
        if done:
            if not quiet:
                say(done)
            checked = check_history(store, site, campaign, alarms_a_month, finds)
    return checked, None


def show_night(checked: Checked, out: Path | None, status: ExitStatus, *, json: bool) -> None:
    """Write the pages and print what was found, as the machine form if `json`.

    `out`: folder of the pages; None: next to the history. `status`: what the command ends with.
    """
    night, result = checked.night, night_result(checked, status)
    folder = out or Path(checked.history_file).parent / f"{night.campaign}-nightly-{night.site}"
    name = f"{night.campaign} on {night.site}, {night.date}"
    further = {"junit.xml": "".join(junit(result.tests, name))}
    show_pages(result, folder, as_json=json, name="night", further=further)


def _run_again(store: Store, checked: Checked, cases: set[str], *, elsewhere: bool) -> str:
    """Run cases of the newest night again and add that; what was run, "" when no other nodes are
    there."""
    run = open_run(checked.night.run_path)
    site, plan = run.provenance().site, run.plan()
    left_out = {
        node
        for record in (run.records() if elsewhere else ())
        if record.case_id in cases
        for node in record.nodes
    }
    others = (site.nodes or 0) - len(left_out)
    needed = {case.id: case.nodes for case in plan.cases if case.id in cases}
    fitting = {case for case in cases if not elsewhere or needed[case] <= others}
    if not fitting:
        print(
            f"{len(cases)} cases not run on other nodes: there are {max(others, 0)} of them",
            file=sys.stderr,
        )
        return ""
    content = rerun_campaign(
        plan,
        dict.fromkeys(fitting, ()),
        name=plan.campaign,
        question=f"Run again what looked slow in run {run.run_id}: is it slow now, too?",
        blocks=RERUN_BLOCKS,
        seed=plan.seed + 1 + elsewhere,
    )
    file = run.path / "rerun.yaml"
    write_whole(file, yaml.safe_dump(content, sort_keys=False).encode())
    asked_as = site.asked_as or checked.night.site
    status = start_run(str(file), asked_as, False, site.builds, left_out)
    night, values = read_night(open_run(status.run_id).path)
    store.add(night, values, checked.night.id, elsewhere=elsewhere)
    where = f" on other nodes ({' '.join(night.nodes)})" if elsewhere else ""
    return f"run again{where}: {len(fitting)} cases as run {night.run_id}"
