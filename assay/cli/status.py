# SPDX-License-Identifier: Apache-2.0
"""`assay status` and `assay raw`: how far a run is, and the raw output of one of its launches."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import unicodedata
from typing import Annotated, Literal

from assay.cli.arguments import JSON, NEWEST, argument, declare
from assay.run.named_runs import run_of
from assay.run.status import run_status
from records.errors import AssayError, ExitStatus
from records.forms import Form, Part, as_text, key
from records.run.archive import RawFiles
from records.run.chain import Chain
from records.run.record import Belonging, checksum_of
from records.run.record_lines import Line, artifacts_of, batches
from records.run.run_directory import RAW_SUFFIX, RunDirectory
from records.text.plain_text import plain
from reports.notation.labels import case_names


class RawFilePart(Part):
    """A raw file of a launch."""

    kind: Annotated[Literal["script", "stdout", "stderr"], key("Kind of the file.")]
    path: Annotated[str, key("Its path below the run directory; raw/b1.zip/NAME is in an archive.")]
    sha256: Annotated[str, key("Its SHA-256, as its record has it; it was proven.")]
    text: Annotated[str, key("Text of the file; a mark replaces what is no UTF-8.")]


class RawForm(Form, kw_only=True):
    """`assay raw`: the raw output of one launch."""

    run_id: Annotated[str, key("The run's id.")]
    case_id: Annotated[str, key("The case.")]
    block: Annotated[int, key("The block.")]
    attempt: Annotated[int, key("The attempt.")]
    status: Annotated[
        Literal["ok", "failed", "wrong", "lost", "skipped"], key("Status with which it ended.")
    ]
    files: Annotated[list[RawFilePart], key("Its files.")]


def status_command(arguments: argparse.Namespace) -> int:
    """`assay status`; FAIL where launches failed."""
    run = run_of(arguments.run_name)
    status = run_status(run)
    if arguments.json:
        print(as_text(status), end="")
    else:
        from assay.screens.screen import Screen  # slow: rich
        from assay.screens.status import show_status

        show_status(Screen(), status)
    return ExitStatus.FAIL if status.failed else ExitStatus.PASS


def raw_command(arguments: argparse.Namespace) -> int:
    """`assay raw`: print the raw output; raises AssayError where it was changed."""
    run = run_of(arguments.run_name)
    launch, artifacts = _asked(run, arguments)
    names = {kind: artifacts[kind] for kind in RAW_SUFFIX if kind in artifacts}
    if arguments.only:
        names = {kind: name for kind, name in names.items() if kind == arguments.only}
    if not names:
        raise AssayError(
            f"{launch.case_id}, block {launch.block}: its record names no"
            f" {arguments.only or 'raw output'} ({launch.status}: {launch.reason or 'no reason'})"
        )
    with RawFiles(run.path) as files:
        found = {
            kind: _proven(run, files, name, checksum_of(artifacts, kind))
            for kind, name in names.items()
        }
    if arguments.json:
        parts = [
            RawFilePart.filled(
                None,
                kind=kind,
                path=artifacts[kind],
                sha256=checksum_of(artifacts, kind),
                text=content.decode("utf-8", "replace"),
            )
            for kind, content in found.items()
        ]
        form = RawForm.filled(launch, run_id=run.run_id, files=parts)
        print(as_text(form), end="")
    elif arguments.only and not sys.stdout.isatty():
        sys.stdout.buffer.write(found[arguments.only])
    else:
        for kind, content in found.items():
            if not arguments.only:
                print(f"==> {names[kind]} ({kind}) <==")
            print(plain(content.decode("utf-8", "replace")))
    return ExitStatus.PASS


def _asked(run: RunDirectory, arguments: argparse.Namespace) -> tuple[Line, dict[str, str]]:
    """The record of the launch that is asked for, with its artifacts."""
    case_id, plan = _case(run, arguments.case, arguments.environment), run.plan()
    belonging = Belonging(plan, run.provenance().run_id or "")
    found, where = None, ""
    for batch in batches(run.records_file, belonging, Chain.of(run.path)):
        for number, line in enumerate(batch.lines, start=batch.first):
            if (line.case_id, line.block) != (case_id, arguments.block):
                continue
            if arguments.attempt in (None, line.attempt):
                found, where = line, f"{run.records_file}:{number}"
    if found is None:
        raise AssayError(
            f"{case_id}, block {arguments.block}: has no such record in {run.path}; planned are"
            f" {plan.blocks} blocks"
        )
    return found, artifacts_of(found, where)


def _case(run: RunDirectory, name: str, environment: str | None) -> str:
    """The id of the one case that is called so: by its check or whole name, else by how its name or
    id begins. Raises AssayError for none, and for several."""
    names, wanted = case_names(run.plan().cases), _plain(name)
    cases = [case for case in run.plan().cases if environment in (None, case.environment)]
    called = {case.id: (case.check, case.id, _plain(names[case.id])) for case in cases}
    exact = [case for case in cases if name in called[case.id] or wanted in called[case.id]]
    found = exact or [
        case for case in cases if any(one.startswith((name, wanted)) for one in called[case.id])
    ]
    if len(found) == 1:
        return found[0].id
    some = ", ".join(
        f"{case.id} ({names[case.id]} in {case.environment})" for case in (found or cases)[:5]
    )
    told = f"{len(found)} cases are called {name!r}" if found else f"no case is called {name!r}"
    raise AssayError(
        f"{told} in {run.path}; give an id, or a name and its environment, e.g."
        f" {some or 'of another environment'}"
    )


def _plain(name: str) -> str:
    """A name as it may be typed: "su3_rmd 8³ × 16" is "su3_rmd 8^3 x 16" too."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("×", "x")
    return re.sub(r"[\s^]+", "", folded)


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
    declare(
        parser,
        status_command,
        NEWEST,
        JSON,
    )


def declare_raw(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay raw`."""
    declare(
        parser,
        raw_command,
        argument("case CASE", "a case's name or id, or how one of them begins"),
        argument("block BLOCK", "from 1", type=int),
        argument("environment ENVIRONMENT", "where several cases begin so", nargs="?"),
        argument("--run RUN", "a run; default: the newest", dest="run_name"),
        argument("--attempt", "default: the latest", type=int),
        argument("--only", "this file, byte by byte, and nothing else", choices=[*RAW_SUFFIX]),
        JSON,
    )
