# SPDX-License-Identifier: Apache-2.0
"""`assay reframe suite`: what a suite of ReFrame tests has, and what of it can run on a site."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.screens.screen import Screen
from assay.sites.loading import site_to_plan_for
from plugins.reframe.foreign.listing import ListedClass, Surroundings
from plugins.reframe.suite_cases import surroundings_of
from plugins.reframe.suite_on_site import ClassHere, SuiteForm, suite_form
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from reports.notation.units import count_text
from reports.render.terminal import Styled


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
            if one.also_in:
                others = f" and {len(one.also_in) - 1} more" if one.also_in[1:] else ""
                further += [f"tests of its names are in {short(one.also_in[0])}{others} too"]
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
    """Numbers of a whole suite, and a word where its files were not kept apart."""
    refused = sum(bool(listing.refused) for listing in form.files)
    total = f"{count_text(len(form.files), 'file')}, {refused} refused; {len(form.classes)} classes"
    if form.site is not None:
        run = [one for one in form.classes if not one.reason]
        mapped = sum(not one.environments for one in run)
        total += f", {len(run)} run here"
        total += f", {mapped} of them with an environment mapped" if mapped else ""
    if any(listing.isolation == "none" for listing in form.files):
        total += "; namespaces are refused here: the files could write and connect as you can"
    return total


def _surroundings(arguments: argparse.Namespace) -> Surroundings:
    """Surroundings of the files of a suite: the site's system, its variables and the caller's."""
    around = Surroundings()
    if arguments.site is not None:
        around = surroundings_of(site_to_plan_for(arguments.site)[0])
    around.network = arguments.network
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
