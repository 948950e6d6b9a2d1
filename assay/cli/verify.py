# SPDX-License-Identifier: Apache-2.0
"""`assay verify`: checksums, values and every verdict of an acceptance, computed once more."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

from assay.cli import arguments as shared
from assay.cli.arguments import CHECK_FOLDERS, JSON, argument
from assay.criteria.loading import criteria_from_text
from assay.documents.acceptance_files import SUMS
from assay.documents.run_checks import Check
from assay.documents.verify import verify
from assay.run.named_runs import run_of
from assay.terminal import say
from checks.common.brought import checks_with
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.run.run_directory import RunDirectory, open_run
from reports.verdicts.acceptance.dossier import FOLDER, VerifiedPart, VerifyForm

#: Nothing differs, but a rewrite of the whole folder would not have been detected.
_CONSISTENT = "consistent; not held against a seal on paper"
#: Where what is said of a check begins.
_HANG = 11


def verify_command(arguments: argparse.Namespace) -> int:
    """`assay verify`: print what was verified; FAIL where something differs."""
    path, checks = _run_checks(arguments)
    return tell_checks(arguments, path, checks)


def tell_checks(arguments: argparse.Namespace, path: Path, checks: list[Check]) -> int:
    """Print checks of a folder; FAIL where something differs."""
    good = all(check.good and not check.unproven for check in checks)
    proven = arguments.seal or arguments.signers
    word = "NOT verified" if not good else "verified" if proven else _CONSISTENT
    failed = not all(check.good for check in checks)
    status = ExitStatus.FAIL if failed else ExitStatus.PASS if good else ExitStatus.INCONCLUSIVE
    if arguments.json:
        parts = [VerifiedPart.filled(check) for check in checks]
        verified = word == "verified"
        form = VerifyForm(result=word, verified=verified, run=str(path), checks=parts)
        print(as_text(form), end="")
        return status
    for check in checks:
        state = "DIFFERS" if not check.good else "unproven" if check.unproven else "ok"
        say(f"{state:8} {check.what}", hang=_HANG)
        for told in (*check.faults, *([check.note] if check.note else [])):
            say(f"{'':{_HANG}}{told}")
    say(f"{word}: {path}")
    return status


def _run_checks(arguments: argparse.Namespace) -> tuple[Path, list[Check]]:
    """The checks of a run and its document."""
    run, document = _target(arguments.target, arguments.run_name)
    from assay.run.provenance import made_with  # slow: Slurm's libraries
    from assay.run.rereading import Rereader  # slow: ReFrame

    reread = Rereader(run.plan(), run.provenance()).faults
    return run.path, verify(
        run.path,
        partial(criteria_from_text, checks=checks_with(run.plan().brought)),
        document,
        arguments.seal,
        reread,
        made_with=made_with(),
        signers=arguments.signers,
    )


def _target(target: str | None, run_name: str | None) -> tuple[RunDirectory, Path | None]:
    """The run to verify, and the document where one was given."""
    if target is None:
        judged = f"{FOLDER}/{SUMS}"
        kind = "judged run", "assay accept"
        return run_of(run_name, lambda run: (run.path / judged).is_file(), *kind), None
    path = Path(target)
    if not path.is_file():
        return open_run(run_name or target), None
    if run_name is not None:
        return open_run(run_name), path
    if path.resolve().parent.name == "acceptance":
        return open_run(str(path.resolve().parent.parent)), path
    if not (named := run_named(path)):
        raise AssayError(f"{path}: does not name its run; say which it is with --run RUN")
    return open_run(named), path


def run_named(page: Path) -> str:
    """The run, or the contract, that a page names; "" where it does not."""
    with page.open("rb") as file:
        head = file.read(1 << 16).decode("utf-8", "replace")
    found = re.search(r'<meta name="assay-run" content="([\w.-]+)">', head)
    return found[1] if found else ""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay verify`."""
    shared.declare(
        parser,
        verify_command,
        argument(
            "target DOCUMENT|RUN",
            "a document, or its run; default: the newest judged run",
            nargs="?",
        ),
        argument("--run RUN", "the run of the document", dest="run_name"),
        argument("--seal", "the seal on the signed paper, eight digits or more"),
        argument("--signers FILE", "allowed signers, as ssh-keygen(1) has them", type=Path),
        *(CHECK_FOLDERS, JSON),
    )
