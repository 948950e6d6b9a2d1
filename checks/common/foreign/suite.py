# SPDX-License-Identifier: Apache-2.0
"""A suite of ReFrame tests: its files, listed, and which of its classes a site can run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from checks.common.foreign.children import list_files
from checks.common.foreign.listing import ListedClass, Listing, Surroundings
from records.errors import AssayError
from records.forms import Form, Part, key


class ClassHere(Part):
    """A test class and the site."""

    file: Annotated[str, key("Its file.")]
    name: Annotated[str, key("Its name.")]
    environments: Annotated[list[str], key("The site's environments that it accepts.")]
    mappable: Annotated[
        list[str],
        key("Names of environments that it asks for and the site lacks; a campaign maps them."),
    ]
    reason: Annotated[str, key("Why it cannot run here, in one line; empty: it can.")]
    also_in: Annotated[
        list[str], key("Further files with tests of these names; ReFrame loads one of them.")
    ]


class SuiteForm(Form, kw_only=True):
    """`assay checks --reframe`: what a suite has, and what of it can run."""

    suite: Annotated[str, key("Its folder or file.")]
    site: Annotated[str | None, key("The site that classes were compared with; null: none.")]
    files: Annotated[list[Listing], key("Its files that have tests, or that were refused.")]
    classes: Annotated[list[ClassHere], key("Every class of them.")]


def suite_form(path: Path, around: Surroundings, site: str | None) -> SuiteForm:
    """The suite at a path, a folder or a file, listed. Raises AssayError where there is none."""
    files = [path]
    if not path.is_file():
        hidden = (".", "__pycache__")
        files = sorted(
            file
            for file in path.rglob("*.py")
            if not any(part.startswith(hidden) for part in file.relative_to(path).parts)
            if file.is_file()
        )
    if not files:
        raise AssayError(
            f"--reframe {path}: no such file, nor a folder with Python files; give a suite's folder"
            " or one of its files"
        )
    listings = [one for one in list_files(files, around) if one.is_test]
    places: dict[str, set[str]] = defaultdict(set)
    for one in listings:
        for cls in one.classes:
            for variant in cls.variants:
                places[variant.unique_name].add(one.file)
    classes = []
    for one in listings:
        for cls in one.classes:
            others = set[str]().union(*(places[variant.unique_name] for variant in cls.variants))
            also = sorted(others - {one.file})
            classes.append(
                ClassHere(one.file, cls.name, *fit(cls, around.configuration), also_in=also)
            )
    return SuiteForm(suite=str(path), site=site, files=listings, classes=classes)


def fit(cls: ListedClass, configuration: Mapping[str, Any]) -> tuple[list[str], list[str], str]:
    """The environments of a configuration that a variant of the class accepts; the names that a
    campaign may map to others; and why it cannot run, "" where it can.

    What a class leaves open, a campaign gives.
    """
    if not cls.variants:
        return [], [], no_variant(cls)
    made = [variant for variant in cls.variants if not variant.refused]
    if not made:
        return [], [], cls.variants[0].refused
    system, known = (
        configuration["systems"][0],
        [one["name"] for one in configuration["environments"]],
    )
    accepted, mappable, lacks = set[str](), set[str](), ""
    for variant in made:
        asked = variant.valid_prog_environs or ()
        if variant.elsewhere:
            (partition,) = system["partitions"]
            names = {one["name"] for one in partition.get("resources", ())}
            has = ", ".join(sorted({*partition["features"], *partition.get("extras", ()), *names}))
            systems = _alternatives(variant.valid_systems or ())
            lacks = f"asks for system {systems}; {system['name']}:{partition['name']} has {has}"
            continue
        accepted |= {*variant.environments}
        mappable |= {one for one in asked if one[:1].isalnum() or one[:1] == "_"} - {*known}
        if not variant.environments:
            lacks = f"asks for environment {_alternatives(asked)}; here are {', '.join(known)}"
    possible = accepted or mappable
    return [one for one in known if one in accepted], sorted(mappable), "" if possible else lacks


def no_variant(cls: ListedClass) -> str:
    """Why a class has no variant here."""
    empty = [one.name for one in cls.parameters if not one.values]
    named = f"parameter {', '.join(empty)}" if empty else "a parameter of a fixture"
    return f"no variant: {named} has no values here"


def _alternatives(specifications: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(specifications)) or "none at all"
