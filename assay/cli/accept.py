# SPDX-License-Identifier: Apache-2.0
"""`assay accept`: the verdict of an acceptance, and its document."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay import criteria_files
from assay.cli import arguments as shared
from assay.cli.arguments import (
    CHECK_FOLDERS,
    JSON,
    RUN,
    argument,
    flag,
    pictures,
    repeated,
    site,
)
from assay.documents import acceptance_files as store
from assay.judging import STATUS, judged_run
from assay.schema.criteria import load_criteria
from assay.schema.problems import listed
from assay.screens.screen import Screen
from checks.common.registry import checks_with
from records.errors import AssayError
from records.forms import as_text
from records.input_files import kind_at, opened
from records.run.chain import sign
from records.run.run_directory import RunDirectory, open_run
from reports.render.terminal import show
from reports.show.draw import write_pictures
from reports.verdicts.acceptance.dossier import FOLDER
from reports.verdicts.acceptance.result import acceptance_result


def accept_command(arguments: argparse.Namespace) -> int:
    """`assay accept`: judge, write the document, print the verdict."""
    run = open_run(arguments.run_name)
    criteria, text = load_criteria(
        _default(run) if arguments.criteria is None else arguments.criteria,
        checks_with(run.plan().brought),
    )
    added = [open_run(name).path for name in arguments.reruns]
    where = {"site": arguments.site, "live": False if arguments.json else None}
    dossier = judged_run(run, criteria, text, added, rerun=arguments.rerun, **where)
    result = acceptance_result(dossier, str(run.path))
    if arguments.json:
        print(as_text(result.data), end="")
    else:
        folder = run.path / FOLDER
        names = (store.DOCUMENT, store.PRINT, store.MACHINE, store.RERUN)
        show(result, Screen(), [str(folder / one) for one in names if (folder / one).is_file()])
    if arguments.pictures is not None:
        written = write_pictures(result.pictures(), {}, arguments.pictures)
        print(*written, sep="\n", file=sys.stderr)
    if arguments.sign is not None:
        sign(run.path / FOLDER / store.SUMS, arguments.sign)
    return STATUS[dossier.judgement.verdict]


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


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay accept`."""
    shared.declare(
        parser,
        accept_command,
        argument("run_name RUN", RUN),
        argument(
            "--criteria CRITERIA",
            "a name in campaigns/criteria/ or a file; default: those of the last judgement,"
            " else those that the campaign names",
        ),
        flag(
            "--rerun",
            "run what is undecided again on the site and judge again, until it is decided or"
            " reruns_at_most of the criteria are done",
        ),
        repeated(
            "--with RUN",
            "a run of the acceptance/rerun.yaml that was written before",
            dest="reruns",
        ),
        argument(
            "--sign KEY",
            "sign SHA256SUMS of the folder with this private key (ssh-keygen -Y sign)",
            type=Path,
        ),
        pictures("of the document"),
        site(None, "where to re-run; default: where the run was made"),
        *(CHECK_FOLDERS, JSON),
    )
