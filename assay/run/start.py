# SPDX-License-Identifier: Apache-2.0
"""Begins or resumes a run: plan, run directory, provenance, then the driver."""

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from msgspec.structs import replace

from assay import ROOT
from assay.build.builder import refuse_stale_builds
from assay.build.spack import locked
from assay.commands import python_folders
from assay.plan.cases import WHOLE, Narrowing, planned_variants
from assay.plan.planner import completed, make_plan
from assay.plan.times import Clock, earlier_times
from assay.run.driver import Driver
from assay.run.progress import Interruption, Progress, time_text
from assay.run.provenance import gather, only_here
from assay.run.status import StatusForm, counted_text, run_status
from assay.schema.loading import load_campaign
from assay.sites.loading import add_checks_of, load_site
from assay.sites.site import Site
from assay.sites.site_file import spack_folders, spack_home
from assay.sites.values import expanded, unset_fault
from assay.terminal import Say
from checks.common.registry import FOLDERS, GIVEN, checks_with, leaf_of
from checks.common.slurm.commands import HALTING_S
from checks.common.slurm.job import Allocation
from checks.common.sources import CHECKS, launch_files
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.run.brought import ReframeTest
from records.run.plan import Plan
from records.run.provenance import AsAsked, Provenance
from records.run.record_lines import Ledger
from records.run.run_directory import RunDirectory, create_run, open_run
from reports.notation.labels import case_names


def start_run(
    campaign_name: str,
    site_name: str,
    live: bool | None,
    builder: str | None = None,
    nodes_left_out: Collection[str] = (),
    *,
    narrowing: Narrowing = WHOLE,
    begun: Callable[[RunDirectory], object] = lambda _: None,
) -> StatusForm:
    """Run a campaign, or what `narrowing` leaves of it, on a site from its beginning, with builds
    of a `builder` (spack, distribution; None: as the site says), without `nodes_left_out`. `begun`
    is called with the run directory before the first launch."""
    add_checks_of(site_name)
    campaign = load_campaign(campaign_name)
    site = load_site(site_name).with_builds(builder).with_possible_variants(campaign.variants)
    site = site.without_nodes(nodes_left_out)
    earlier = earlier_times(site.provenance(), campaign.name)
    plan = make_plan(completed(campaign, site), site.facts(), narrowing, earlier=earlier)
    refuse_stale_builds(site, plan.environments)
    _refuse_unfit_checks(plan)
    progress = Progress(live)
    site, own_job = _placed(site, plan, progress.say)
    assert campaign.origin is not None
    run = create_run(campaign.origin.text, plan)
    asked = replace(
        site.provenance(),
        asked_as=site_name,
        builds=builder,
        nodes_left_out=sorted(nodes_left_out),
        partition_nodes=site.scheduler().nodes(),
        in_one_job=own_job is not None or None,
    )
    _write_provenance(run, plan, gather(site, asked, run.run_id, plan), campaign_name)
    begun(run)
    ledger = run.ledger()
    with _held(run, ledger):
        return _drive(run, ledger, site, progress, own_job)


def _write_provenance(run: RunDirectory, plan: Plan, known: Provenance, campaign: str) -> None:
    """Write the first provenance of a run, with the words that the campaign was asked for by."""
    folders = [GIVEN[Path(folder)] for folder in plan.checks_folders if Path(folder) in GIVEN]
    words = AsAsked(campaign=_from_here(campaign), checks=[*map(_from_here, folders)])
    try:
        write_whole(run.provenance_file, replace(known, asked=words).without_secrets().to_json())
    except OSError as error:
        raise InfrastructureError(
            f"{run.provenance_file}: cannot be written ({error.strerror}); nothing was run"
        ) from error


def _from_here(path: str) -> str:
    """A path as it is, but from the current folder what is below that."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def resume_run(
    run_name: str,
    site_name: str | None,
    live: bool | None,
    *,
    blocks: int | None = None,
    until_decided: bool = False,
) -> StatusForm:
    """Go on with a run where it stopped; `site_name` None: on the site as it was named then.

    `blocks` are added to a run that has ended; `until_decided`: at most so many, by default as many
    as it has.
    """
    run = open_run(run_name)
    plan, began = run.plan(), run.provenance().site
    ledger = run.ledger()  # damage is found before a cluster is asked
    name = site_name or began.asked_as or plan.site
    add_checks_of(name)
    try:
        site = load_site(name)
    except InfrastructureError as error:
        raise _resumable(run, str(error)) from error
    site = site.with_builds(began.builds).without_nodes(began.nodes_left_out or ())
    site = site.with_variants(planned_variants(plan, run.plan_file))
    _refuse_other_site(run, plan, site)
    progress = Progress(live)
    site, own_job = _placed(site, plan, progress.say)
    with _held(run, ledger):
        if blocks or until_decided:
            from assay.run.sequential import extend  # slow: SciPy

            run = extend(run, ledger, blocks, progress.say, until_decided=until_decided)
            ledger = run.ledger()
        return _drive(run, ledger, site, progress, own_job)


def _refuse_unfit_checks(plan: Plan) -> None:
    """Raise CheckError for a check outside the tree that cannot be run."""
    checks = checks_with(plan.brought)
    for check in {checks[case.check] for case in plan.cases}:
        check.refuse_changed()
        if not check.is_shipped:
            leaf_of(check)
            launch_files(check.folder)


def _refuse_other_site(run: RunDirectory, plan: Plan, site: Site) -> None:
    """Raise AssayError unless the run's launches still to come are what they were on this site."""
    began = run.provenance().site
    if site.name != plan.site or began.partition not in (None, site.description.partition):
        where = f"{plan.site}:{began.partition}" if began.partition else plan.site
        raise AssayError(f"{run.path} was begun on site {where}; resume it with --site {where}")
    if unknown := {case.check for case in plan.cases} - checks_with(plan.brought).keys():
        raise AssayError(
            f"{run.path} measures {', '.join(sorted(unknown))}, which is no check of this Assay;"
            f" name the folder that holds it with --checks, as it was"
            f" {', '.join(plan.checks_folders) or 'another version'}"
        )
    _refuse_unfit_checks(plan)


def _placed(site: Site, plan: Plan, say: Say) -> tuple[Site, Allocation | None]:
    """The site with the longest job that its partition takes, and the allocation whose steps the
    launches are, if they are. Raises AssayError for a plan with launches that can never run there.
    """
    scheduler = site.scheduler()
    scheduler.require()
    most_nodes, longest_s = scheduler.limits()
    cases = [case for case in plan.cases if case.skipped is None]
    own = scheduler.allocation(cases, plan.seed, say)
    suites = [c.check for c in cases if isinstance(plan.brought.get(c.check), ReframeTest)]
    if own is not None and suites:
        raise AssayError(
            f"{suites[0]} is a test of a ReFrame suite, whose launches are jobs of their own:"
            " run it outside of a job, on a site with Slurm"
        )
    if own is not None:
        say(scheduler.told.format(job=own.job_id))
    else:
        refuse_unfit_cases(site, plan, most_nodes, longest_s)
    return site.changed(longest_job_s=longest_s), own


def refuse_unfit_cases(
    site: Site, plan: Plan, most_nodes: int | None, longest_s: int | None
) -> None:
    """Raise AssayError for a case of the plan that can never run in jobs of `most_nodes` and
    `longest_s`."""
    partition = f"partition {site.description.slurm_partition} of site {site.name}"
    for case in (case for case in plan.cases if case.skipped is None):
        if longest_s is not None and case.least_s + HALTING_S > longest_s:
            unfit = f"is estimated at {case.least_s:g} s; {partition} ends jobs after {longest_s} s"
            remedy = "shorten the case"
        elif most_nodes is not None and case.nodes > most_nodes:
            unfit = f"needs {case.nodes} nodes; {partition} allows a job {most_nodes}"
            remedy = "correct `nodes` in its site.yaml"
        else:
            continue
        raise AssayError(
            f"{case_names(plan.cases)[case.id]} {unfit}. Choose another partition"
            f" (--site {site.name}:PARTITION), or {remedy}; nothing was run"
        )


@contextmanager
def _held(run: RunDirectory, ledger: Ledger) -> Iterator[None]:
    """Within this the process is the run's one driver; an error says how to go on."""
    lock = run.lock()
    try:
        ledger.catch_up()  # what another driver has added meanwhile
        yield
    except InfrastructureError as error:
        raise _resumable(run, str(error)) from error
    except OSError as error:
        where = error.filename or run.path
        raise _resumable(run, f"{where}: {error.strerror or error}") from error
    finally:
        os.close(lock)


def _drive(
    run: RunDirectory, ledger: Ledger, site: Site, progress: Progress, own_job: Allocation | None
) -> StatusForm:
    """Run what is left of a run; gives its status."""
    uses_spack = any(site.spack_facts(name) for name in run.plan().environments)
    began, is_new = time.monotonic(), not ledger.entries
    try:
        progress.say(f"run {run.path} on site {site.name}")
        if names := ", ".join(only_here(site.variables())):
            progress.say(f"not taken from this shell: {names}; jobs get what site.yaml says")
        site.show_to_jobs(_folders_read(site, run.plan()))
        # No build may change what the run's launches use.
        kept = locked(spack_home(), shared=True) if uses_spack else nullcontext()
        with kept, Interruption() as interruption:
            not_run = Driver(run, ledger, site, progress, interruption, own_job=own_job).run()
        status = run_status(run, ledger)
        took = f", in {time_text(time.monotonic() - began)}"
        planned = f" (planned: {time_text(Clock(run.plan(), run.interims()).left_s())})"
        progress.say(f"{counted_text(status)}{took}{planned if is_new else ''}")
    finally:
        progress.end()
    if not_run:
        raise InfrastructureError("; ".join(not_run))
    return status


def _folders_read(site: Site, plan: Plan) -> list[Path]:
    """Folders that sessions and jobs read: checks, Python, HPL's source, suites of the plan, what
    Spack built, and programs that the site names."""
    programs = (
        program
        for environment in site.description.environments.values()
        for program in environment.programs.values()
        if "/" in program and not unset_fault(program)
    )
    named = (Path(file).parent for file in (*map(expanded, programs), site.hpl_source()))
    suites = (Path(test.suite) for test in plan.brought.values() if isinstance(test, ReframeTest))
    ours = CHECKS, ROOT / "records", ROOT / "plugins", *python_folders(), *FOLDERS
    read = [*ours, *suites, *named, *spack_folders(site.description, plan.environments)]
    return [folder for folder in read if folder.is_dir()]


def _resumable(run: RunDirectory, problem: str) -> InfrastructureError:
    command = f"assay run --resume {run.path}"
    how = "" if command in problem else f". What was not run stays to be run: {command}"
    return InfrastructureError(f"{problem}{how}")
