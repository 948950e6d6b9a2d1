# SPDX-License-Identifier: Apache-2.0
"""A run judged as an acceptance, and what is open run again until it is decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from assay.documents import acceptance_files as store
from assay.documents.verify import unproven
from assay.run.provenance import made_with
from assay.run.start import start_run
from records.criteria import Criteria
from records.errors import AssayError, ExitStatus
from records.run.run_directory import RunDirectory, open_run
from reports.verdicts.acceptance.judge import FOLDER, Dossier, make_dossier

#: The exit status of a verdict.
STATUS = {
    "PASS": ExitStatus.PASS,
    "FAIL": ExitStatus.FAIL,
    "INCONCLUSIVE": ExitStatus.INCONCLUSIVE,
    "SUSPECT": ExitStatus.INCONCLUSIVE,
}


def judged_run(
    run: RunDirectory,
    criteria: Criteria,
    text: str,
    added: list[Path],
    *,
    rerun: bool = False,
    site: str | None = None,
    live: bool | None = None,
    begun: Callable[[RunDirectory], object] = lambda _: None,
) -> Dossier:
    """Judge a run with its known re-runs and those `added`, and write its document.

    `rerun`: run what is open again, on `site` or where the run was made, and judge again, until
    nothing is asked for; `begun` learns of each such run.
    """
    dossier = _judge(run, criteria, text, added)
    while rerun and dossier.judgement.rerun:
        where = site or run.provenance().site.asked_as or run.plan().site
        status = start_run(str(run.path / FOLDER / store.RERUN), where, live, begun=begun)
        added.append(Path(status.run))
        dossier = _judge(run, criteria, text, added)
    return dossier


def _judge(run: RunDirectory, criteria: Criteria, text: str, added: list[Path]) -> Dossier:
    known = store.known_reruns(run.path)
    reruns = list(dict.fromkeys(path.resolve() for path in [*known, *added]))
    for path in (run.path, *reruns):
        _refuse_unproven(open_run(str(path)), suites=criteria.unproven == "accept")
    dossier = make_dossier(
        run.path,
        reruns,
        criteria=criteria,
        criteria_text=text,
        day=datetime.now(UTC).date(),
        made_with=made_with(),
    )
    store.write(dossier, text)
    return dossier


def _refuse_unproven(run: RunDirectory, *, suites: bool) -> None:
    """Raise AssayError where raw output is missing, or does not give the values of a record; tests
    of `suites` are believed."""
    from assay.run.rereading import Rereader  # slow: ReFrame

    reread = Rereader(run.plan(), run.provenance()).faults
    faults = [*unproven(run.path, run.records(), reread, suites=suites)]
    if faults:
        raise AssayError(
            f"{run.path}: is not judged, for its raw output does not bear out its records:"
            f" {'; '.join(faults[:3])}; {len(faults)} such faults. assay verify {run.path} names"
            " them; put back the files that the run wrote, or run those launches anew"
        )
