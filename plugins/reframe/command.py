# SPDX-License-Identifier: Apache-2.0
"""`assay reframe`: suites listed, logs imported and surveyed, runs and references exported."""

import argparse
import gc
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assay.cli.arguments import JSON, NEWEST, argument, repeated, site, verbs
from assay.run.status import run_of
from assay.screens.pages import print_form, print_or_write, show_pages
from assay.screens.screen import Screen
from assay.sites.loading import site_to_plan_for
from assay.terminal import say
from plugins.reframe.export import performance_logs, references, references_text, reframe_report
from plugins.reframe.imported import Importer
from plugins.reframe.listing import ListedClass, Surroundings
from plugins.reframe.reframe_files import files_below, read_file
from plugins.reframe.suite_cases import ClassHere, SuiteForm, suite_form, surroundings_of
from plugins.reframe.survey import LEAST_OF_A_LIMIT, Survey, survey
from plugins.reframe.survey_launches import ImportForm, UnreadPart
from plugins.reframe.survey_result import survey_result
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.history import DEFAULT_HISTORY
from records.history.store import Store, no_nights
from reports.notation.units import count_text
from reports.render.files import write_folder
from reports.render.terminal import Styled

#: Parts that could not be read and are listed.
_MOST_UNREAD = 100
#: Where imported nights are kept: not in the file of proven ones.
IMPORTED_HISTORY = Path("results/imported.sqlite")
#: Thresholds of Python's collector where a million objects stay until the command ends.
_RARELY = 200_000, 20, 50


def import_files(history: Path, paths: Sequence[Path], zone: str | None) -> ImportForm:
    """Take the launches of all files into the history, all or none; those that are there already
    stay as they are. `zone` is that of local times without one. Raises AssayError for a path that
    is not there, an unknown zone, and where no file has a launch."""
    files, unread, first = set[Path](), 0, list[UnreadPart]()
    whose, found = _zone(zone), dict(files_below(paths))

    def refuse(file: Path, line: int, reason: str) -> None:
        nonlocal unread
        unread += 1
        files.add(file)
        if len(first) < _MOST_UNREAD:
            first.append(UnreadPart(str(file), line, reason[:200]))

    with Store(history, create=True) as store, store.transaction():
        importer = Importer(store)
        for file, named in found.items():
            if importer.take(read_file(file, whose, refuse, named=named)):
                files.add(file)
        importer.finish()
        if not importer.added + importer.known:
            why = f"; {first[0].file}, line {first[0].line}: {first[0].reason}" if first else ""
            raise AssayError(
                f"{', '.join(map(str, paths))}: no launch of ReFrame in {len(found)} files{why};"
                " give performance logs, run reports or the database of ReFrame"
            )
    return ImportForm.filled(
        importer,
        history=str(history),
        files=len(files),
        nights=len(importer.nights),
        series=len(importer.series),
        unread=unread,
        unread_parts=first,
    )


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise AssayError(
            f"--zone: found {name!r:.60}, allowed is a time zone such as Europe/Zurich"
        ) from error


def surveyed_history(history: Path | None) -> Path:
    """The history that is meant: the one given, else the imported one, else that of the nights."""
    if history is not None:
        return history
    return IMPORTED_HISTORY if IMPORTED_HISTORY.exists() else DEFAULT_HISTORY


def surveys_of(history: Path, site: str | None, campaign: str | None) -> list[Survey]:
    """Surveys of all campaigns and systems of a history that are meant."""
    with Store(history) as store:
        if not (groups := store.groups(site, campaign)):
            raise no_nights(history)
        return [survey(store, *whose) for *whose, _ in groups]


def suite_command(arguments: argparse.Namespace) -> int:
    """`assay reframe suite`: what a suite has, and what of it can run on the site."""
    form = suite_form(arguments.path, _surroundings(arguments), arguments.site)
    if arguments.json:
        print(as_text(form), end="")
        return _status(form)
    screen, base = Screen(), arguments.path.absolute()
    here = {(one.file, one.name): one for one in form.classes}

    def short(file: str) -> str:
        path = Path(file)
        return str(path.relative_to(base)) if path.is_relative_to(base) and path != base else file

    for listing in form.files:
        if listing.refused:
            file = f"{short(listing.file)} "
            screen.line(file, ("refused", "bad"), f": {listing.refused}", hang=2)
        elif listing.classes:
            screen.line(short(listing.file))
        for cls in listing.classes:
            one, size = here[listing.file, cls.name], count_text(cls.num_variants, "variant")
            size += ", flexible" if any(v.num_tasks == 0 for v in cls.variants) else ""
            needs = [variable.name for variable in cls.variables if variable.required]
            says = _verdict(cls, one, form.site)
            further = [f"give it {', '.join(needs)}"] if needs else []
            end = "".join(f"; {part}" for part in further)
            screen.line(f"{cls.name}: {cls.kind}, {size}; ", *says, end, indent=2, hang=2)
    screen.blank()
    screen.line(_total(form))
    if path := sorted({folder for listing in form.files for folder in listing.path}):
        screen.line(f"modules of the suite were found in {', '.join(path)}")
    return _status(form)


def _status(form: SuiteForm) -> ExitStatus:
    """FAIL where every file was refused."""
    refused = [bool(listing.refused) for listing in form.files]
    return ExitStatus.FAIL if refused and all(refused) else ExitStatus.PASS


def _total(form: SuiteForm) -> str:
    """Numbers of a whole suite."""
    refused = sum(bool(listing.refused) for listing in form.files)
    total = f"{count_text(len(form.files), 'file')}, {refused} refused; {len(form.classes)} classes"
    if form.site is not None:
        run = [one for one in form.classes if not one.reason]
        mapped = sum(not one.environments for one in run)
        total += f", {len(run)} run here"
        total += f", {mapped} of them with an environment mapped" if mapped else ""
    return total


def _surroundings(arguments: argparse.Namespace) -> Surroundings:
    """Surroundings of the files of a suite: the site's system, its variables and the caller's."""
    around = Surroundings()
    if arguments.site is not None:
        around = surroundings_of(site_to_plan_for(arguments.site)[0])
    for given in arguments.env:
        name, equal, value = given.partition("=")
        if not (name and equal):
            raise AssayError(f"--env {given}: allowed is NAME=VALUE, e.g. --env SCRATCH=/scratch")
        around.environment[name] = value
    return around


def _verdict(cls: ListedClass, here: ClassHere, site: str | None) -> tuple[Styled, ...]:
    """Tell if a class can run on the site; without one what its variants ask for."""
    if site is None:
        made = [variant for variant in cls.variants if not variant.refused]
        if not made:
            return (here.reason,)
        systems = {one for variant in made for one in variant.valid_systems or ("*",)}
        environs = {one for variant in made for one in variant.valid_prog_environs or ("*",)}
        asked = f"systems {', '.join(sorted(systems))}; environments {', '.join(sorted(environs))}"
        return (f"asks for {asked}",)
    if here.reason:
        return ("not here", "open"), f": {here.reason}"
    if not here.environments:
        return ("runs here", "good"), f" with an environment mapped to {' or '.join(here.mappable)}"
    names, more = here.environments[:4], len(here.environments) - 4
    others = f" and {count_text(more, 'other environment')}" if more > 0 else ""
    return ("runs here", "good"), f" in {', '.join(names)}{others}"


def import_command(arguments: argparse.Namespace) -> int:
    """`assay reframe import`: take in what ReFrame logged."""
    gc.set_threshold(*_RARELY)
    form = import_files(arguments.history, arguments.paths, arguments.zone)
    unread = [f"  {one.file}, line {one.line}: {one.reason}" for one in form.unread_parts[:10]]
    more = form.unread - len(unread)
    return print_form(
        form,
        f"{form.history}: {count_text(form.added, 'launch')} added,"
        f" {form.known} known already, of {count_text(form.files, 'file')}:"
        f" {count_text(form.nights, 'night')}, {count_text(form.series, 'series')}",
        f"no number: {count_text(form.not_numbers, 'figure')}" if form.not_numbers else "",
        f"not read: {count_text(form.unread, 'line')}" if form.unread else "",
        *unread,
        f"  and {more} more; --json lists a hundred" if more else "",
        as_json=arguments.json,
    )


def survey_command(arguments: argparse.Namespace) -> int:
    """`assay reframe survey`: a history as a whole."""
    gc.set_threshold(*_RARELY)
    history = surveyed_history(arguments.history)
    result = survey_result(surveys_of(history, arguments.site, arguments.campaign))
    folder = arguments.out or history.parent / "reframe-survey"
    show_pages(result, folder, as_json=arguments.json)
    return ExitStatus.PASS


def references_command(arguments: argparse.Namespace) -> int:
    """`assay reframe references`: those that a history supports."""
    history = surveyed_history(arguments.history)
    found = references(surveys_of(history, arguments.site, arguments.campaign))
    if not found:
        raise AssayError(
            f"{history} has no figure with {LEAST_OF_A_LIMIT} imported launches at its present"
            " level; import more: assay reframe import"
        )
    suffix = arguments.output.suffix if arguments.output else ""
    return print_or_write(references_text(found, suffix), arguments.output)


def export_command(arguments: argparse.Namespace) -> int:
    """`assay reframe export`: a report and performance logs, in a folder."""
    run = run_of(arguments.run_name)
    report = reframe_report(run.records(), run.provenance(), run.path.name)
    folder = arguments.output or run.path / "reframe"
    files = {"report.json": as_text(report), **performance_logs(report)}
    write_folder(folder, files)
    for name in files:
        say(str(folder / name))
    return ExitStatus.PASS


_HISTORY = argument(
    "--history", f"default: {IMPORTED_HISTORY} if it is there, else {DEFAULT_HISTORY}", type=Path
)
_OF_ONE = (
    argument("--campaign CAMPAIGN", "only this one; default: all"),
    site(None, "only this one; default: all"),
)


#: Name, help, function and arguments of the commands below `assay reframe`.
declare = verbs(
    (
        "suite",
        "list the test classes of a suite, and which of them a site can run",
        suite_command,
        argument(
            "path PATH",
            "a folder or a file; each file is loaded by a process of its own with your rights",
            type=Path,
        ),
        site(None, "say which classes this site can run"),
        repeated("--env NAME=VALUE", "a variable that the suite's files read; may be repeated"),
        JSON,
    ),
    (
        "import",
        "take in performance logs, reports or the database of ReFrame",
        import_command,
        argument("paths PATH", "a file, or a folder of such", type=Path, nargs="+"),
        argument("--history", f"default: {IMPORTED_HISTORY}", type=Path, default=IMPORTED_HISTORY),
        argument(
            "--zone ZONE", "of times without one, e.g. Europe/Zurich; default: this machine's"
        ),
        JSON,
    ),
    (
        "survey",
        "one page of a history: changes, noise, references, slow nodes, flaky tests",
        survey_command,
        _HISTORY,
        *_OF_ONE,
        argument("--out", "folder of the page; default: next to the history", type=Path),
        JSON,
    ),
    (
        "references",
        "references that an imported history supports",
        references_command,
        _HISTORY,
        *_OF_ONE,
        argument("--output FILE", "write it there: .py, .yaml or .json", type=Path),
    ),
    (
        "export",
        "a run as ReFrame's report and performance logs",
        export_command,
        NEWEST,
        argument("--output DIR", "default: RUN/reframe", type=Path),
    ),
)
