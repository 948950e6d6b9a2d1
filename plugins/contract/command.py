# SPDX-License-Identifier: Apache-2.0
"""`assay contract`: start a contract, walk its stages, waive, sign, and make its document."""

import argparse
import hashlib
import re
import signal
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from assay.cli import arguments as cli
from assay.cli.accept import STATUS, tell_checks
from assay.schema.document import clipped, did_you_mean, listed
from assay.screens.screen import Screen
from assay.sites.loading import add_checks_of
from plugins.contract import documents, log
from plugins.contract.forms import ContractRisksForm
from plugins.contract.loading import load_contract
from plugins.contract.model import Stage
from plugins.contract.result import contract_result
from plugins.contract.stability.command import watch_command
from plugins.contract.stages import judge_again, planned, refuse_blocked, run_period, run_stage
from records.errors import AssayError, ExitStatus
from records.files import write_whole
from records.forms import as_text
from records.input_files import kind_at
from records.run.chain import sign
from reports.judgement import Item
from reports.render.terminal import show

#: How long a waiver holds where no day is given.
WAIVED_DAYS = 365


def start_command(arguments: argparse.Namespace) -> int:
    """`assay contract start`: refuse a faulty contract, or make its folder; runs nothing."""
    add_checks_of(arguments.site)
    contract, text, path = load_contract(arguments.name)
    loaded, risks = planned(contract, path.parent, arguments.site)
    texts = {log.CONTRACT: text} | {
        name: kept for one in loaded for name, kept in one.files.items()
    }
    folder = log.create_contract(contract.name, texts)
    declared = as_text(ContractRisksForm(risks=risks)).encode()
    write_whole(folder.path / documents.RISKS, declared)
    seal = hashlib.sha256(declared).hexdigest()
    folder.append("started", site=arguments.site, file=str(path.resolve()), seal=seal)
    _show(folder, as_json=arguments.json)
    return ExitStatus.PASS


def status_command(arguments: argparse.Namespace) -> int:
    """`assay contract status`: print how far a contract is; gives the status of its verdict."""
    return _show(log.open_contract(arguments.contract), as_json=arguments.json)


def next_command(arguments: argparse.Namespace) -> int:
    """`assay contract next`: run the next stage, or the one that is named, once more."""
    folder = log.open_contract(arguments.contract)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with folder.alone():
        course = documents.course_of(folder)
        add_checks_of(course.site)
        stage = _stage(course, arguments.stage) if arguments.stage else course.next_stage
        if stage is None:
            names = listed(one.name for one in course.contract.stages)
            raise AssayError(
                f"{folder.path}: every stage has run; one is repeated by its name: assay contract"
                f" next STAGE ({names})"
            )
        refuse_blocked(course, stage)
        if stage.stability is not None:
            run_period(folder, course, stage)
        else:
            run_stage(folder, course, stage, False if arguments.json else None)
        verdict = documents.course_of(folder).verdict_of(stage.name)
    _show(folder, as_json=arguments.json)
    return STATUS.get(verdict, ExitStatus.INCONCLUSIVE)


def waive_command(arguments: argparse.Namespace) -> int:
    """`assay contract waive`: book a waiver, and judge the stage with it; nothing is run."""
    folder = log.open_contract(arguments.contract)
    by, reason = _said(arguments.by, "--by"), _said(arguments.reason, "--reason")
    with folder.alone():
        course = documents.course_of(folder)
        add_checks_of(course.site)
        stage = _stage(course, arguments.stage)
        until = _day(arguments.until)
        for name in _criteria(folder, course, stage, arguments.criterion, arguments.subject):
            folder.append(
                "waived",
                stage=stage.name,
                criterion=name,
                subject=arguments.subject or "",
                by=by,
                reason=reason,
                until=until,
            )
        judge_again(folder, documents.course_of(folder), stage)
    return _show(folder, as_json=arguments.json)


def sign_command(arguments: argparse.Namespace) -> int:
    """`assay contract sign`: book who signs a stage, or the whole contract, as it is now."""
    folder = log.open_contract(arguments.contract)
    by = _said(arguments.by, "--by")
    with folder.alone():
        course = documents.course_of(folder)
        roles = [party.role for party in course.contract.parties]
        if arguments.role not in roles:
            raise AssayError(
                f"--role: found {arguments.role!r}{did_you_mean(arguments.role, roles)}; the"
                f" parties of {folder.file} are {listed(roles)}"
            )
        stages = [_stage(course, arguments.stage)] if arguments.stage else course.contract.stages
        for stage in stages:
            if course.verdict_of(stage.name) == "NOT RUN":
                raise AssayError(
                    f"stage {stage.name} has not ended: nothing can be signed for it; run it with:"
                    f" assay contract next {stage.name}"
                )
        name = arguments.stage or ""
        verdict = course.verdict_of(name) if name else course.verdict
        told = {"by": by, "role": arguments.role, "reason": arguments.reason or ""}
        folder.append("signed", stage=name, verdict=verdict, **told)
        if arguments.key is not None:
            documents.write_documents(folder)
            sign(folder.path / documents.SUMS, arguments.key)
    return _show(folder, as_json=arguments.json)


def report_command(arguments: argparse.Namespace) -> int:
    """`assay contract report`: write the documents; gives the status of the verdict."""
    folder = log.open_contract(arguments.contract)
    with folder.alone():
        written = documents.write_documents(folder)
    return _show(folder, [str(path) for path in written], as_json=arguments.json)


def verify_command(arguments: argparse.Namespace) -> int:
    """`assay contract verify`: print what was verified; FAIL where something differs."""
    folder, document = _to_verify(arguments.target)
    checks = documents.verify_contract(folder, document, arguments.seal, arguments.signers)
    proven = bool(arguments.seal or arguments.signers)
    return tell_checks(folder.path, checks, proven=proven, as_json=arguments.json)


def _to_verify(name: str | None) -> tuple[log.ContractFolder, Path | None]:
    """The folder of a contract, given itself or by its document."""
    document = Path(name) if name and Path(name).is_file() else None
    if document is None:
        return log.open_contract(name), None
    with document.open("rb") as file:
        head = file.read(1 << 16).decode("utf-8", "replace")
    named = re.search(r'<meta name="assay-run" content="([\w.-]+)">', head)
    folders = document.parent, log.CONTRACTS / (named[1] if named else "")
    found = next((folder for folder in folders if kind_at(folder / log.CONTRACT)), None)
    if found is None:
        raise AssayError(f"{document}: not the document of a contract that is here")
    return log.ContractFolder(found), document


def _show(folder: log.ContractFolder, files: list[str] | None = None, *, as_json: bool) -> int:
    """Print the contract as it is now; gives the status of its verdict."""
    contract = documents.contract_file(folder)
    if as_json:
        print(as_text(contract.form), end="")
    else:
        show(contract_result(contract), Screen(), files or [])
    return STATUS.get(contract.course.verdict, ExitStatus.INCONCLUSIVE)


def _stage(course: log.ContractCourse, name: str) -> Stage:
    """The stage of a command line."""
    stage, names = course.contract.stage(name), [one.name for one in course.contract.stages]
    if stage is None:
        raise AssayError(
            f"STAGE: found {clipped(name)!r}{did_you_mean(name, names)}; the contract has"
            f" {listed(names)}"
        )
    return stage


def _criteria(
    folder: log.ContractFolder,
    course: log.ContractCourse,
    stage: Stage,
    name: str | None,
    subject: str | None,
) -> list[str]:
    """The criterion that is waived, or without a name all that are not met; of a `subject` those in
    which it is not met."""
    attempts = course.attempts(stage.name)
    kept = documents.contract_file(folder).judgement(attempts[-1]) if attempts else None
    judged = {one.id: one for one in kept.results} if kept else {}
    if name is not None and name not in judged:
        has = f"has {listed(judged)}" if judged else "has not been judged yet"
        raise AssayError(f"CRITERION: found {clipped(name)!r}; stage {stage.name} {has}")
    found = [name] if name else [key for key, one in judged.items() if one.effective != "PASS"]
    if not found:
        raise AssayError(f"stage {stage.name}: nothing is to be waived: no criterion is open")
    if subject is None:
        return found
    bad = {key: [one for one in judged[key].items if one.verdict != "PASS"] for key in found}
    mine = [key for key in found if any(subject in _names(item) for item in bad[key])]
    if not mine:
        subjects = listed(dict.fromkeys(item.subject for items in bad.values() for item in items))
        raise AssayError(
            f"--subject: found {clipped(subject)!r}; not met or not decided in stage {stage.name}:"
            f" {subjects or 'nothing'}"
        )
    return mine


def _names(item: Item) -> set[str]:
    """Names that a waiver may give an item, as "node n2" or "n1–n2": so, a node of it, or n1-n2."""
    return {item.subject, *re.split("[ –]", item.subject), item.subject.replace("–", "-")}


def _said(text: str | None, option: str) -> str:
    """Who or why; never blank, for the log keeps it."""
    if text is None or not text.strip():
        raise AssayError(f"{option} is missing or blank; a contract keeps who decided, and why")
    return " ".join(text.split())


def _day(text: str | None) -> str:
    """The last day of a waiver."""
    if text is None:
        return (datetime.now(UTC).date() + timedelta(days=WAIVED_DAYS)).isoformat()
    today = datetime.now(UTC).date()
    with suppress(ValueError):
        if (day := date.fromisoformat(text)) >= today:
            return day.isoformat()
    raise AssayError(f"--until: found {text!r:.40}; allowed is a day from {today} on")


def _seconds(text: str) -> float:
    """Seconds of "60s", "36h" or "1.5d"; raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([smhd])", text.strip(), re.ASCII)
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(
            f"found {text!r:.40}; allowed is a number and s, m, h or d, e.g. 36h"
        )
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]


def _share(text: str) -> float:
    """A share of 1 in "99%" or "0.99"; raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*(%?)", text.strip(), re.ASCII)
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"found {text!r:.40}; allowed are shares, e.g. 99%")
    return value


_STARTED = (
    cli.argument(
        "--contract FOLDER", "a started contract, or how it begins; default: the one started last"
    ),
    cli.JSON,
)
_BY = cli.argument("--by NAME", "who decides")


def _span(name: str, text: str, key: str = "") -> cli.Argument:
    """An option whose value is a time, in s."""
    dest = key or f"{name}_s"
    return cli.argument(f"--{name}", text, dest=dest, type=_seconds, metavar="TIME")


_WATCH = (
    cli.site(),
    cli.argument("--folder DIR", "of the phase; default: results/stability/SITE", type=Path),
    cli.flag("--once", "book one look, for a timer or scrontab"),
    _span("every", "time between looks; without --once book until the end"),
    _span("for", "length of the phase, e.g. 30d", "length_s"),
    cli.argument(
        "--scale", "contract time that passes in a second; 720: a day in 2 min", type=float
    ),
    cli.repeated("--partition", "watch only nodes of this one; may be repeated", dest="partitions"),
    cli.repeated(
        "--file-system DIR", "also write a file there; may be repeated", dest="file_systems"
    ),
    cli.argument("--availability SHARE", "what is promised, e.g. 99%%", type=_share),
    _span("mtbi", "mean time between interrupts that is promised, e.g. 720h"),
    _span("mtti", "mean time between killed jobs that is promised"),
    cli.argument("--class OUTAGE=CLASS", "who answers for an outage", dest="classed"),
    cli.argument("--by NAME", "who says so"),
    cli.argument("--reason", "why"),
    cli.JSON,
)


#: Declares the commands below: name, help, function and arguments of each, of `assay contract`.
declare = cli.verbs(
    (
        "watch",
        "book outages: one look, or look after look; without either judge what is booked",
        watch_command,
        *_WATCH,
    ),
    (
        "start",
        "what a contract's stages risk, and its folder; runs nothing yet",
        start_command,
        cli.argument("name CONTRACT", "a name in campaigns/contracts/, or a file"),
        *(cli.site(), cli.JSON),
    ),
    (
        "status",
        "the stages, what is open, waived and signed, and the command that comes next",
        status_command,
        *_STARTED,
    ),
    (
        "next",
        "run the next stage, or go on with the one that was killed",
        next_command,
        cli.argument("stage STAGE", "this one, once more; both attempts are kept", nargs="?"),
        *_STARTED,
    ),
    (
        "waive",
        "accept all the same what is not met, by name and reason",
        waive_command,
        cli.argument("stage STAGE", "the stage"),
        cli.argument("criterion CRITERION", "default: all that are not met", nargs="?"),
        cli.argument("--subject", "only for this node, or pair of nodes as n1-n2"),
        cli.argument("--until", "the last day on which it holds; default: in a year"),
        *(_BY, cli.argument("--reason", "why"), *_STARTED),
    ),
    (
        "sign",
        "sign a stage, or the whole contract, as it is now",
        sign_command,
        cli.argument("stage STAGE", "default: the whole contract", nargs="?"),
        cli.argument("--role", "for which party of the contract", required=True),
        cli.argument("--reason", "a remark"),
        cli.argument(
            "--key",
            "also write the document, and sign its SHA256SUMS with this private key"
            " (ssh-keygen -Y sign)",
            type=Path,
        ),
        *(_BY, *_STARTED),
    ),
    (
        "report",
        "write the document for those who sign, and the evidence for the vendor",
        report_command,
        *_STARTED,
    ),
    (
        "verify",
        "recompute the log, the runs and every judgement of a contract",
        verify_command,
        cli.argument("target DOCUMENT|CONTRACT", "default: the one started last", nargs="?"),
        cli.argument("--seal", "the seal on the signed paper, eight digits or more"),
        cli.argument("--signers FILE", "allowed signers, as ssh-keygen(1) has them", type=Path),
        *(cli.CHECK_FOLDERS, cli.JSON),
    ),
)
