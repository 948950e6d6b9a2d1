# SPDX-License-Identifier: Apache-2.0
"""`assay verify`: checksums, values and every verdict of an acceptance, computed once more."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.cli import arguments as shared
from assay.cli.arguments import CHECK_FOLDERS, JSON, RUN, argument
from assay.documents.acceptance_files import SUMS
from assay.documents.verify import Check, verify
from assay.run.named_runs import run_of
from assay.schema.criteria import criteria_from_text
from assay.terminal import say
from checks.common.registry import checks_with
from records.errors import ExitStatus
from records.forms import as_text
from reports.verdicts.acceptance.dossier import FOLDER, VerifiedPart, VerifyForm

#: Nothing differs, but a rewrite of the whole folder would not have been detected.
_CONSISTENT = "consistent; not proven by a signature"
#: Where what is said of a check begins.
_HANG = 11


def verify_command(arguments: argparse.Namespace) -> int:
    """`assay verify`: print what was verified; FAIL where something differs."""
    from assay.run.provenance import made_with  # slow: Slurm's libraries
    from assay.run.rereading import Rereader  # slow: ReFrame

    judged = f"{FOLDER}/{SUMS}"
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


def declare_verify(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay verify`."""
    shared.declare(
        parser,
        verify_command,
        argument("run_name RUN", f"{RUN}; default: the newest judged run", nargs="?"),
        argument("--signers FILE", "allowed signers, as ssh-keygen(1) has them", type=Path),
        *(CHECK_FOLDERS, JSON),
    )
