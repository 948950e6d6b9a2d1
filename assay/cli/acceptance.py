# SPDX-License-Identifier: Apache-2.0
"""`assay accept` and `assay verify`: the verdict of an acceptance, its document, its proof."""

from __future__ import annotations

import argparse
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from records.errors import AssayError, ExitStatus

if TYPE_CHECKING:
    from records.run_directory import RunDirectory
    from reports.acceptance.dossier import Dossier

_STATUS = {
    "PASS": ExitStatus.PASS,
    "FAIL": ExitStatus.FAIL,
    "INCONCLUSIVE": ExitStatus.INCONCLUSIVE,
}


def add_parsers(subparsers: Any) -> None:
    """Add both commands to the parser."""
    _add_accept(subparsers)
    _add_verify(subparsers)


def _add_accept(subparsers: Any) -> None:
    text = "acceptance verdict and document of a run"
    parser: argparse.ArgumentParser = subparsers.add_parser("accept", help=text, description=text)
    parser.set_defaults(run=_accept)
    parser.add_argument("run_name", metavar="RUN", help="a run directory or a run id")
    parser.add_argument(
        "--criteria",
        help="a name in campaigns/criteria/ or a file; default: that of the last judgement",
    )
    parser.add_argument(
        "--rerun",
        action="store_true",
        help="run the undecided cases once more on the site, then judge again",
    )
    parser.add_argument(
        "--with",
        dest="reruns",
        metavar="RUN",
        action="append",
        default=[],
        help="a run of the acceptance/rerun.yaml that was written before",
    )
    parser.add_argument("--site", help="where to re-run; default: where the run was made")
    parser.add_argument("--json", action="store_true", help="the machine form on stdout")


def _accept(arguments: argparse.Namespace) -> int:
    from records.run_directory import open_run  # noqa: PLC0415

    run = open_run(arguments.run_name)
    criteria, text = _criteria_of(run, arguments.criteria)
    added = [open_run(name).path for name in arguments.reruns]
    dossier = _judge(run, criteria, text, added)
    if arguments.rerun and dossier.judgement.rerun:
        added.append(_run_again(run, arguments.site, quiet=arguments.json))
        dossier = _judge(run, criteria, text, added)
    paths = _paths(dossier)
    if arguments.json:
        print(dossier.content.decode(), end="")
    else:
        _tell(dossier, paths)
    return _STATUS[dossier.judgement.verdict]


def _criteria_of(run: RunDirectory, name: str | None) -> tuple[Any, str]:
    from assay.criteria.loading import load_criteria  # noqa: PLC0415

    if name is not None:
        return load_criteria(name)
    last = run.path / "acceptance" / "criteria.yaml"
    if last.is_file():
        return load_criteria(str(last))
    raise AssayError(
        f"{run.path} has not been judged before: say by what with --criteria FILE, a name in"
        " campaigns/criteria/ or a file"
    )


def _judge(run: RunDirectory, criteria: Any, text: str, added: list[Path]) -> Dossier:
    from reports.acceptance import store  # noqa: PLC0415
    from reports.acceptance.dossier import make_dossier  # noqa: PLC0415

    reruns = store.merged_reruns(store.known_reruns(run.path), added)
    dossier = make_dossier(
        run.path,
        reruns,
        criteria=criteria,
        criteria_text=text,
        day=datetime.now(UTC).date(),
        made_with=store.made_with(),
    )
    store.write(dossier, text)
    return dossier


def _paths(dossier: Dossier) -> list[Path]:
    from reports.acceptance import store  # noqa: PLC0415

    folder = dossier.run.directory / "acceptance"
    names = (store.DOCUMENT, store.PRINT, store.MACHINE, store.RERUN)
    return [folder / name for name in names if (folder / name).is_file()]


def _run_again(run: RunDirectory, site: str | None, *, quiet: bool) -> Path:
    """Run the re-run's campaign where the run was made; gives its run directory."""
    from assay.run.start import start_run  # noqa: PLC0415
    from records.run_directory import open_run  # noqa: PLC0415

    asked_as = run.provenance().get("site", {}).get("asked_as") or run.plan().site
    live = False if quiet else None
    status = start_run(str(run.path / "acceptance" / "rerun.yaml"), site or str(asked_as), live)
    return open_run(status.run_id).path


def _tell(dossier: Dossier, paths: list[Path]) -> None:
    from reports.acceptance.summary import sentences  # noqa: PLC0415
    from reports.acceptance.wording import bound_text, limit_words  # noqa: PLC0415

    judgement = dossier.judgement
    print(f"{judgement.verdict}: {dossier.criteria.title}")
    for sentence in sentences(dossier):
        print(f"  {sentence.text}")
    for result in judgement.criteria:
        item = result.most_telling()
        waived = " (waived)" if result.verdict != result.effective else ""
        print(f"{result.verdict + waived:13} {result.id}: {result.title}")
        if item is None:
            print(f"{'':13} {result.note}")
        elif result.kind != "answers":
            told = f"{item.subject}, {item.environment}: {bound_text(item)} (limit"
            print(f"{'':13} {told} {limit_words(item)}, n = {item.bounds.n}) {item.note}".rstrip())
    for path in paths:
        print(path)
    if judgement.rerun:
        print(f"Re-run the undecided cases with: assay accept {dossier.run.directory} --rerun")


def _add_verify(subparsers: Any) -> None:
    text = "recompute the checksums and every verdict of an acceptance from the records"
    parser: argparse.ArgumentParser = subparsers.add_parser("verify", help=text, description=text)
    parser.set_defaults(run=_verify)
    parser.add_argument("target", metavar="DOCUMENT|RUN", help="a document, or its run")
    parser.add_argument("--run", dest="run_name", metavar="RUN", help="the run of the document")
    parser.add_argument("--seal", help="the seal on the signed paper, eight digits or more")
    parser.add_argument("--json", action="store_true", help="for machines")


def _verify(arguments: argparse.Namespace) -> int:
    from assay.criteria.loading import criteria_from_text  # noqa: PLC0415
    from reports.acceptance.verify import verify  # noqa: PLC0415

    run, document = _target(arguments.target, arguments.run_name)
    checks = verify(run.path, criteria_from_text, document, arguments.seal)
    good = all(check.good for check in checks)
    if arguments.json:
        found = [{"what": c.what, "faults": list(c.faults), "note": c.note} for c in checks]
        print(json.dumps({"verified": good, "run": str(run.path), "checks": found}, indent=1))
        return ExitStatus.PASS if good else ExitStatus.FAIL
    for check in checks:
        print(f"{'ok' if check.good else 'DIFFERS':8} {check.what}")
        for told in (*check.faults, *([check.note] if check.note else [])):
            print(f"{'':8}   {told}")
    print(f"{'verified' if good else 'NOT verified'}: {run.path}")
    return ExitStatus.PASS if good else ExitStatus.FAIL


def _target(target: str, run_name: str | None) -> tuple[RunDirectory, Path | None]:
    """The run to verify, and the document where one was given."""
    from records.run_directory import open_run  # noqa: PLC0415

    path = Path(target)
    if not path.is_file():
        return open_run(run_name or target), None
    if run_name is not None:
        return open_run(run_name), path
    if path.resolve().parent.name == "acceptance":
        return open_run(str(path.resolve().parent.parent)), path
    with path.open("rb") as file:
        head = file.read(1 << 16).decode("utf-8", "replace")
    named = re.search(r'<meta name="assay-run" content="([\w.-]+)">', head)
    if named is None:
        raise AssayError(f"{path}: does not name its run; say which it is with --run RUN")
    return open_run(named[1]), path
