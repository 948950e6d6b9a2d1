# SPDX-License-Identifier: Apache-2.0
"""`assay accept`: the verdict of an acceptance, and its document."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from assay import criteria_files
from assay.cli.arguments import tell_pictures
from assay.criteria.loading import load_criteria
from assay.documents import acceptance_files as store
from assay.documents.verify import unproven
from assay.run.named_runs import MOST_OFFERED, fitting, unsaid
from assay.run.provenance import made_with
from assay.run.start import start_run
from assay.schema.problems import listed
from assay.screens.screen import Screen
from checks.common.brought import bring
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.input_files import kind_at, opened
from records.run.checksums import sign
from records.run.run_directory import RunDirectory, open_run
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.acceptance.dossier import FOLDER, Dossier, make_dossier
from reports.verdicts.acceptance.result import acceptance_result

_STATUS = {
    "PASS": ExitStatus.PASS,
    "FAIL": ExitStatus.FAIL,
    "INCONCLUSIVE": ExitStatus.INCONCLUSIVE,
    "SUSPECT": ExitStatus.INCONCLUSIVE,
}


def accept_command(arguments: argparse.Namespace) -> int:
    """`assay accept`: judge, write the document, print the verdict."""
    if arguments.run_name is None:
        fit = fitting(lambda run: bool(run.plan().judged_by) or (run.path / FOLDER).is_dir())
        found = [
            (f"assay accept {run.path.name}", f"{run.plan().campaign} on {run.plan().site}")
            for run in islice(fit, MOST_OFFERED)
        ]
        none = " None below results/ names criteria: assay run acceptance begins one."
        raise unsaid(f"accept: which RUN?{'' if found else none}", ("runs that fit", found))
    run = open_run(arguments.run_name)
    bring(run.plan().brought)
    criteria, text = load_criteria(
        _default(run) if arguments.criteria is None else arguments.criteria
    )
    added = [open_run(name).path for name in arguments.reruns]
    dossier = _judge(run, criteria, text, added)
    while arguments.rerun and dossier.judgement.rerun:
        asked_as = run.provenance().site.asked_as or run.plan().site
        site = arguments.site or asked_as
        live = False if arguments.json else None
        status = start_run(str(run.path / "acceptance" / "rerun.yaml"), site, live)
        added.append(Path(status.path))
        dossier = _judge(run, criteria, text, added)
    result = acceptance_result(dossier, str(run.path))
    if arguments.json:
        print(as_text(result.data), end="")
    else:
        folder = run.path / FOLDER
        names = (store.DOCUMENT, store.PRINT, store.MACHINE, store.RERUN)
        show(result, Screen(), [str(folder / one) for one in names if (folder / one).is_file()])
    if arguments.sign is not None:
        sign(run.path / FOLDER / store.SUMS, arguments.sign)
    if arguments.pictures is not None:
        written = write_pictures(result.pictures(), {}, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
    return _STATUS[dossier.judgement.verdict]


def _default(run: RunDirectory) -> str:
    """The criteria of the last judgement, else those that the campaign is made for."""
    last = run.path / "acceptance" / "criteria.yaml"
    if kind_at(last):
        opened(last).close()
        return str(last)
    plan, names = run.plan(), criteria_files()
    name = plan.criteria_of(virtual=bool(run.provenance().site.virtual))
    if name in names:
        return name
    named = "names no criteria" if name is None else f"names criteria {name}, which are not there"
    raise AssayError(
        f"{run.path} has not been judged before, and its campaign {plan.campaign} {named}: say by"
        f" what with --criteria FILE, a name in campaigns/criteria/ ({listed(names)}) or a file"
    )


def _judge(run: RunDirectory, criteria: Any, text: str, added: list[Path]) -> Dossier:
    reruns = store.merged_reruns(store.known_reruns(run.path), added)
    for path in (run.path, *reruns):
        _refuse_unproven(open_run(str(path)))
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


def _refuse_unproven(run: RunDirectory) -> None:
    """Raise AssayError where raw output is missing, or does not give the values of a record."""
    from assay.run.rereading import Rereader  # slow: ReFrame

    reread = Rereader(run.plan(), run.provenance()).faults
    faults = [*unproven(run.path, run.records(), reread)]
    if faults:
        raise AssayError(
            f"{run.path}: is not judged, for its raw output does not bear out its records:"
            f" {'; '.join(faults[:3])}; {len(faults)} such faults. assay verify {run.path} names"
            " them; put back the files that the run wrote, or run those launches anew"
        )
