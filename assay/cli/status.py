# SPDX-License-Identifier: Apache-2.0
"""`assay status` and `assay raw`: how far a run is, and the raw output of one of its launches."""

from __future__ import annotations

import argparse
import hashlib
import sys

from assay.cli.arguments import JSON, NEWEST, argument, declare
from assay.run.named_runs import run_of
from assay.run.status import run_status
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.run.archive import RawFiles
from records.run.belonging import Belonging, checksum_of
from records.run.chain import Chain
from records.run.record_lines import artifacts_of, batches
from records.run.run_directory import RAW_SUFFIX, RunDirectory
from records.text.plain_text import plain
from reports.notation.labels import case_names


def status_command(arguments: argparse.Namespace) -> int:
    """`assay status`; FAIL where launches failed."""
    status = run_status(run_of(arguments.run_name))
    if arguments.json:
        print(as_text(status), end="")
    else:
        from assay.screens.screen import Screen  # slow: rich, SciPy
        from assay.screens.status import show_status

        show_status(Screen(), status)
    return ExitStatus.FAIL if status.failed else ExitStatus.PASS


def raw_command(arguments: argparse.Namespace) -> int:
    """`assay raw`: print the raw output; raises AssayError where it was changed."""
    run = run_of(arguments.run_name)
    case = _case(run, arguments.case, arguments.environment)
    artifacts = _artifacts(run, case, arguments.block)
    kinds = [kind for kind in RAW_SUFFIX if kind in artifacts and arguments.only in (None, kind)]
    if not kinds:
        named = arguments.only or "raw output"
        raise AssayError(f"{case}, block {arguments.block}: its record names no {named}")
    with RawFiles(run.path) as files:
        contents = {
            kind: _proven(run, files, artifacts[kind], checksum_of(artifacts, kind))
            for kind in kinds
        }
    if arguments.only and not sys.stdout.isatty():
        sys.stdout.buffer.write(contents[arguments.only])
        return ExitStatus.PASS
    for kind, content in contents.items():
        if not arguments.only:
            print(f"==> {artifacts[kind]} ({kind}) <==")
        print(plain(content.decode("utf-8", "replace")))
    return ExitStatus.PASS


def _artifacts(run: RunDirectory, case_id: str, block: int) -> dict[str, str]:
    """The artifacts of the latest record of a launch."""
    plan = run.plan()
    belonging = Belonging(plan, run.provenance().run_id or "")
    artifacts = None
    for batch in batches(run.records_file, belonging, Chain.of(run.path)):
        for number, line in enumerate(batch.lines, start=batch.first):
            if (line.case_id, line.block) == (case_id, block):
                artifacts = artifacts_of(line, f"{run.records_file}:{number}")
    if artifacts is None:
        raise AssayError(
            f"{case_id}, block {block}: has no such record in {run.path}; planned are"
            f" {plan.blocks} blocks"
        )
    return artifacts


def _case(run: RunDirectory, name: str, environment: str | None) -> str:
    """The id of the one case of this check, or whose id begins so. Raises AssayError for none, and
    for several."""
    cases = [case for case in run.plan().cases if environment in (None, case.environment)]
    named = [case for case in cases if name in (case.check, case.id)]
    named = named or [case for case in cases if case.id.startswith(name)]
    if len(named) == 1:
        return named[0].id
    names = case_names(run.plan().cases)
    some = ", ".join(
        f"{case.id} ({names[case.id]} in {case.environment})" for case in (named or cases)[:5]
    )
    told = f"{len(named)} cases are called {name!r}" if named else f"no case is called {name!r}"
    raise AssayError(
        f"{told} in {run.path}; give an id, or a check and its environment, e.g."
        f" {some or 'of another environment'}"
    )


def _proven(run: RunDirectory, files: RawFiles, name: str, sha256: str) -> bytes:
    """A raw file. Raises AssayError unless it is what the record says."""
    content = files.read(name)
    if content is None:
        raise AssayError(f"{run.path / name}: is missing")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise AssayError(f"{run.path / name}: is not what its record says; it was changed")
    return content


def declare_status(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay status`."""
    declare(parser, status_command, NEWEST, JSON)


def declare_raw(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay raw`."""
    declare(
        parser,
        raw_command,
        argument("case CASE", "a check, or how the id of a case begins"),
        argument("block BLOCK", "from 1", type=int),
        argument("environment ENVIRONMENT", "where several cases begin so", nargs="?"),
        argument("--run RUN", "a run; default: the newest", dest="run_name"),
        argument("--only", "this file, byte by byte, and nothing else", choices=[*RAW_SUFFIX]),
    )
