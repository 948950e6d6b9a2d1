# SPDX-License-Identifier: Apache-2.0
"""Begins or resumes a run: plan, run directory, provenance, then the driver."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from pathlib import Path

from msgspec.structs import replace

from assay import ROOT
from assay.build.built_from import refuse_stale_builds
from assay.build.home_lock import in_use
from assay.plan import (
    WHOLE,
    Clock,
    Durations,
    MoreBlocks,
    Narrowing,
    completed,
    earlier_runs,
    make_plan,
)
from assay.plan.expand import planned_variants, refuse_foreign_parameters
from assay.run.allocation import InOneJob
from assay.run.driver import Driver
from assay.run.infrastructure import require_slurm
from assay.run.interruption import Interruption
from assay.run.nodes import own_allocation, partition_nodes, refuse_own_nodes
from assay.run.progress import Progress, time_text
from assay.run.provenance import gather, only_here
from assay.run.shapes import partition_limits, refuse_unfit_shapes
from assay.run.status import StatusForm, counted_text, run_status
from assay.schema import load_campaign
from assay.schema.model import Campaign
from assay.sites.builds import spack_folders, spack_home
from assay.sites.loading import add_checks_of, load_site
from assay.sites.login import python_folders
from assay.sites.site import Site
from assay.sites.values import expanded, unset_fault
from checks.common.base import leaf_of
from checks.common.brought import checks_with
from checks.common.registry import FOLDERS, GIVEN
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
    in_one_job: bool = False,
    allocation_s: float | None = None,
    begun: Callable[[RunDirectory], object] | None = None,
) -> StatusForm:
    """Run a campaign, or what `narrowing` leaves of it, on a site from its beginning.

    `builder`: whose builds the environments are (spack, distribution); None: as the site says.
    `nodes_left_out`: nodes that no launch may use. `in_one_job`: all launches are steps of one
    allocation, of `allocation_s` seconds; None: as long as the plan needs. `begun` is called
    with the run directory before the first launch.
    """
    add_checks_of(site_name)
    campaign = load_campaign(campaign_name)
    site = load_site(site_name).with_builds(builder).with_possible_variants(campaign.variants)
    site = site.without_nodes(nodes_left_out)
    plan = _planned(completed(campaign, site), site, narrowing)
    require_slurm(site)
    progress = Progress(live)
    site, shared = _placed(site, plan, progress, in_one_job, allocation_s)
    assert campaign.origin is not None
    run = create_run(campaign.origin.text, plan)
    asked = replace(
        site.provenance(),
        asked_as=site_name,
        builds=builder,
        nodes_left_out=sorted(nodes_left_out),
        partition_nodes=partition_nodes(site),
        in_one_job=shared is not None or None,
    )
    _write_provenance(run, plan, gather(site, asked, run.run_id, plan), campaign_name)
    if begun is not None:
        begun(run)
    return _drive(run, run.ledger(), site, progress, shared)


def _planned(campaign: Campaign, site: Site, narrowing: Narrowing) -> Plan:
    """The plan of a campaign on a site where builds and checks of it are ready."""
    earlier = Durations(earlier_runs(site.provenance()))
    plan = make_plan(campaign, site.facts(), narrowing, durations=earlier)
    refuse_stale_builds(site, plan.environments)
    _refuse_unfit_checks(plan)
    return plan


def _write_provenance(run: RunDirectory, plan: Plan, known: Provenance, campaign: str) -> None:
    """Write the first provenance of a run, with the words that the campaign was asked for by."""
    folders = [GIVEN[Path(one)] for one in plan.checks_folders if Path(one) in GIVEN]
    named = AsAsked(campaign=_from_here(campaign), checks=[*map(_from_here, folders)])
    try:
        write_whole(run.provenance_file, replace(known, asked=named).without_secrets().to_json())
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
    in_one_job: bool = False,
    allocation_s: float | None = None,
    more: MoreBlocks | None = None,
) -> StatusForm:
    """Go on with a run where it stopped; `site_name` None: on the site as it was named then. In one
    job, too, where it was begun so. `more` blocks are added to a run that has ended."""
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
    require_slurm(site)
    progress = Progress(live)
    in_one_job = in_one_job or bool(began.in_one_job)
    site, shared = _placed(site, plan, progress, in_one_job, allocation_s)
    return _drive(run, ledger, site, progress, shared, more=more)


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
    if site.name != plan.site:
        raise AssayError(
            f"{run.path} was begun on site {plan.site}; resume it with --site {plan.site}"
        )
    if began.partition is not None and site.description.partition != began.partition:
        raise AssayError(
            f"{run.path} was begun on partition {began.partition}; resume it with --site"
            f" {plan.site}:{began.partition}"
        )
    if unknown := {case.check for case in plan.cases} - checks_with(plan.brought).keys():
        raise AssayError(
            f"{run.path} measures {', '.join(sorted(unknown))}, which is no check of this Assay;"
            f" name the folder that holds it with --checks, as it was"
            f" {', '.join(plan.checks_folders) or 'another version'}"
        )
    refuse_foreign_parameters(plan, run.plan_file)
    _refuse_unfit_checks(plan)
    needed = max((case.nodes for case in plan.cases if case.skipped is None), default=0)
    if needed > (nodes := site.facts().nodes):
        raise AssayError(
            f"{run.path} needs {needed} nodes; site {site.name} has {nodes} now. Bring up as"
            " many as the run began with."
        )


def _placed(
    site: Site, plan: Plan, progress: Progress, in_one_job: bool, allocation_s: float | None
) -> tuple[Site, InOneJob | None]:
    """The site with the longest job that Slurm's partition takes, and how launches share a job.
    Raises AssayError for a plan with launches that Slurm will never run there."""
    (most_nodes, longest_s), shared = partition_limits(site), None
    cases = [case for case in plan.cases if case.skipped is None]
    asking = next((case_names(plan.cases)[case.id] for case in cases if case.resources), None)
    inherited = None if asking else own_allocation(site, cases, plan.seed, progress.say)
    if inherited is not None:
        progress.say(f"launches are steps of job {inherited.job_id}, in which assay runs")
        shared = InOneJob(inherited=inherited)
    elif in_one_job or site.description.launch_in == "allocation":
        if asking:
            raise AssayError(
                f"{asking} asks for resources of its own, which steps of one allocation do not get:"
                " leave such cases out with --checks, or run them without --in-one-job"
            )
        shared = InOneJob(allocation_s)
    suites = [c.check for c in cases if isinstance(plan.brought.get(c.check), ReframeTest)]
    if shared is not None and suites:
        raise AssayError(
            f"{suites[0]} is a test of a ReFrame suite, whose launches are jobs of their own:"
            " run it without --in-one-job, outside of a job"
        )
    if inherited is None:
        refuse_own_nodes(site, max((case.nodes for case in cases), default=0))
        for note in refuse_unfit_shapes(site, plan, most_nodes, longest_s):
            progress.say(note)
    return site.changed(longest_job_s=longest_s), shared


def _drive(
    run: RunDirectory,
    ledger: Ledger,
    site: Site,
    progress: Progress,
    shared: InOneJob | None,
    *,
    more: MoreBlocks | None = None,
) -> StatusForm:
    uses_spack = any(site.spack_facts(name) for name in run.plan().environments)
    lock, began, is_new = run.lock(), time.monotonic(), not ledger.entries
    try:
        ledger.catch_up()  # what another driver has added meanwhile
        if more is not None:
            from assay.run.extending import extend  # slow: SciPy

            run = extend(run, ledger, more, progress.say)
            ledger = run.ledger()
        progress.say(f"run {run.path} on site {site.name}")
        if names := ", ".join(only_here(site.variables())):
            progress.say(f"not taken from this shell: {names}; jobs get what site.yaml says")
        site.show_to_jobs(_folders_read(site, run.plan()))
        # No build may change what the run's launches use.
        with in_use(spack_home()) if uses_spack else nullcontext(), Interruption() as interruption:
            not_run = Driver(run, ledger, site, progress, interruption, in_one_job=shared).run()
        status = run_status(run, ledger)
        took = f", in {time_text(time.monotonic() - began)}"
        planned = f" (planned: {time_text(Clock(run.plan(), run.interims()).left_s())})"
        progress.say(f"{counted_text(status)}{took}{planned if is_new else ''}")
        if not_run:
            raise InfrastructureError("; ".join(not_run))
    except InfrastructureError as error:
        raise _resumable(run, str(error)) from error
    except OSError as error:
        where = error.filename or run.path
        raise _resumable(run, f"{where}: {error.strerror or error}") from error
    finally:
        progress.end()
        os.close(lock)
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
    named = (Path(one).parent for one in (*map(expanded, programs), site.hpl_source()))
    suites = (Path(one.suite) for one in plan.brought.values() if isinstance(one, ReframeTest))
    ours = CHECKS, ROOT / "records", ROOT / "plugins", *python_folders(), *FOLDERS
    read = [*ours, *suites, *named, *spack_folders(site.description, plan.environments)]
    return [folder for folder in read if folder.is_dir()]


def _resumable(run: RunDirectory, problem: str) -> InfrastructureError:
    command = f"assay run --resume {run.path}"
    told = "" if command in problem else f". What was not run stays to be run: {command}"
    return InfrastructureError(f"{problem}{told}")
