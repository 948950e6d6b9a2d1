# SPDX-License-Identifier: Apache-2.0
"""`assay accept`: a run judged, what is open run again until it is decided, the document; `assay
verify`: checksums, values and every verdict, computed once more."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from assay import criteria_files
from assay.cli import arguments as shared
from assay.documents import acceptance_files as store
from assay.documents.verify import Check, unproven, verify
from assay.run.provenance import made_with
from assay.run.start import start_run
from assay.run.status import run_of
from assay.schema.criteria import criteria_from_text, load_criteria
from assay.schema.document import listed
from assay.screens.screen import Screen
from assay.terminal import say
from checks.common.registry import checks_with
from records.criteria import Criteria
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.input_files import kind_at, opened
from records.run.chain import sign
from records.run.run_directory import RunDirectory, open_run
from reports.render.terminal import show
from reports.show.draw import write_pictures
from reports.verdicts.acceptance.judge import (
    FOLDER,
    Dossier,
    VerifiedPart,
    VerifyForm,
    make_dossier,
)
from reports.verdicts.acceptance.result import acceptance_result

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
    from assay.run.rereading import Rereader  # slow: checks, SciPy

    reread = Rereader(run.plan(), run.provenance()).faults
    faults = [*unproven(run.path, run.records(), reread, suites=suites)]
    if faults:
        raise AssayError(
            f"{run.path}: is not judged, for its raw output does not bear out its records:"
            f" {'; '.join(faults[:3])}; {len(faults)} such faults. assay verify {run.path} names"
            " them; put back the files that the run wrote, or run those launches anew"
        )


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


declare = shared.declared(
    accept_command,
    shared.argument("run_name RUN", shared.RUN),
    shared.argument(
        "--criteria CRITERIA",
        "a name in campaigns/criteria/ or a file; default: those of the last judgement,"
        " else those that the campaign names",
    ),
    shared.flag(
        "--rerun",
        "run what is undecided again on the site and judge again, until it is decided or"
        " reruns_at_most of the criteria are done",
    ),
    shared.repeated(
        "--with RUN",
        "a run of the acceptance/rerun.yaml that was written before",
        dest="reruns",
    ),
    shared.argument(
        "--sign KEY",
        "sign SHA256SUMS of the folder with this private key (ssh-keygen -Y sign)",
        type=Path,
    ),
    shared.pictures("of the document"),
    shared.site(None, "where to re-run; default: where the run was made"),
    *(shared.CHECK_FOLDERS, shared.JSON),
)


#: Nothing differs, but a rewrite of the whole folder would not have been detected.
_CONSISTENT = "consistent; not proven by a signature"
#: Where what is said of a check begins.
_HANG = 11


def verify_command(arguments: argparse.Namespace) -> int:
    """`assay verify`: print what was verified; FAIL where something differs."""
    from assay.run.rereading import Rereader  # slow: checks, SciPy

    judged = f"{FOLDER}/{store.SUMS}"
    kind = "judged run", "assay accept"
    run = run_of(arguments.run_name, lambda run: (run.path / judged).is_file(), *kind)
    checks = verify(
        run.path,
        partial(criteria_from_text, checks=checks_with(run.plan().brought)),
        Rereader(run.plan(), run.provenance()).faults,
        made_with=made_with(),
        signers=arguments.signers,
    )
    proven = arguments.signers is not None
    return tell_checks(run.path, checks, proven=proven, as_json=arguments.json)


def tell_checks(path: Path, checks: Sequence[Check], *, proven: bool, as_json: bool) -> int:
    """Print checks of a folder; FAIL where something differs. `proven`: by a signature."""
    good = all(check.good and not check.unproven for check in checks)
    word = "NOT verified" if not good else "verified" if proven else _CONSISTENT
    failed = not all(check.good for check in checks)
    status = ExitStatus.FAIL if failed else ExitStatus.PASS if good else ExitStatus.INCONCLUSIVE
    if as_json:
        parts = [VerifiedPart.filled(check) for check in checks]
        verified = word == "verified"
        form = VerifyForm(result=word, verified=verified, run=str(path), checks=parts)
        print(as_text(form), end="")
        return status
    for check in checks:
        state = "DIFFERS" if not check.good else "unproven" if check.unproven else "ok"
        say(f"{state:8} {check.what}", hang=_HANG)
        for text in (*check.faults, *([check.note] if check.note else [])):
            say(f"{'':{_HANG}}{text}")
    say(f"{word}: {path}")
    return status


declare_verify = shared.declared(
    verify_command,
    shared.argument("run_name RUN", f"{shared.RUN}; default: the newest judged run", nargs="?"),
    shared.argument("--signers FILE", "allowed signers, as ssh-keygen(1) has them", type=Path),
    *(shared.CHECK_FOLDERS, shared.JSON),
)
