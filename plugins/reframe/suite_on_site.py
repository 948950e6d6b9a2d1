# SPDX-License-Identifier: Apache-2.0
"""Suite of ReFrame tests and a site: its files, listed, and which of its classes can run there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from plugins.reframe.listing import ListedClass, Listing, Surroundings, list_files
from records.errors import AssayError
from records.forms import Form, Part, key


def configuration_for(
    system: str,
    partition: Mapping[str, Any],
    environments: Mapping[str, Collection[str]],
    *,
    modules_system: str = "nomod",
) -> dict[str, Any]:
    """ReFrame's `site_configuration` of a site for listing. `partition`: what ReFrame has of it,
    its name at least; `environments`: name → features."""
    described = {
        **partition,
        "scheduler": "slurm",
        "launcher": "srun",
        "features": sorted({"remote", "scontrol", *partition.get("features", ())}),
        "environs": [*environments],
    }
    whole = {
        "name": system,
        "hostnames": [".*"],
        "modules_system": modules_system,
        "partitions": [described],
    }
    return {
        "systems": [whole],
        # The program of the module system runs where a file asks it, not before.
        "general": [{"resolve_module_conflicts": False}],
        "environments": [
            {"name": name, "features": sorted(has)} for name, has in environments.items()
        ],
    }


class ClassHere(Part):
    """A test class and the site."""

    file: Annotated[str, key("Its file.")]
    name: Annotated[str, key("Its name.")]
    environments: Annotated[list[str], key("The site's environments that it accepts.")]
    mappable: Annotated[list[str], key("Environments that it asks for and a campaign can map.")]
    reason: Annotated[str, key("Why it cannot run here, in one line; empty: it can.")]


class SuiteForm(Form, kw_only=True):
    """`assay reframe suite`: what a suite has, and what of it can run."""

    schema: Annotated[int, key("The version of this form.")] = 2
    suite: Annotated[str, key("Its folder or file.")]
    site: Annotated[str | None, key("The site that classes were compared with; null: none.")]
    files: Annotated[list[Listing], key("Its files that have tests, or that were refused.")]
    classes: Annotated[list[ClassHere], key("Every class of them.")]


def suite_form(path: Path, around: Surroundings, site: str | None) -> SuiteForm:
    """The suite at a path, a folder or a file, listed. Raises AssayError where there is none."""
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    hidden = (".", "__pycache__")
    files = [
        file
        for file in files
        if not any(part.startswith(hidden) for part in file.relative_to(path).parts)
        if file.is_file()
    ]
    if not files:
        raise AssayError(
            f"{path}: no such file, nor a folder with Python files; give a suite's folder"
            " or one of its files"
        )
    listings = [one for one in list_files(files, around) if one.is_test]
    classes = [
        ClassHere(one.file, cls.name, *fit(cls, around.configuration))
        for one in listings
        for cls in one.classes
    ]
    return SuiteForm(suite=str(path), site=site, files=listings, classes=classes)


def fit(cls: ListedClass, configuration: Mapping[str, Any]) -> tuple[list[str], list[str], str]:
    """The environments of a configuration that a variant of the class accepts; the names that a
    campaign may map to others; and why it cannot run, "" where it can.

    What a class leaves open, a campaign gives.
    """
    made = [variant for variant in cls.variants if not variant.refused]
    if not made:
        return [], [], cls.variants[0].refused if cls.variants else no_variant(cls)
    here = [variant for variant in made if not variant.elsewhere]
    known = [one["name"] for one in configuration["environments"]]
    accepted = {name for variant in here for name in variant.environments}
    asked = {name for variant in here for name in variant.valid_prog_environs or ()}
    mappable = sorted(one for one in asked - {*known} if one[:1].isalnum() or one[:1] == "_")
    if accepted or mappable:
        return [one for one in known if one in accepted], mappable, ""
    environments = _alternatives(made[-1].valid_prog_environs or ())
    lacks = f"asks for environment {environments}; here are {', '.join(known)}"
    if made[-1].elsewhere:
        (system,) = configuration["systems"]
        (partition,) = system["partitions"]
        names = {one["name"] for one in partition.get("resources", ())}
        has = ", ".join(sorted({*partition["features"], *partition.get("extras", ()), *names}))
        systems = _alternatives(made[-1].valid_systems or ())
        lacks = f"asks for system {systems}; {system['name']}:{partition['name']} has {has}"
    return [], [], lacks


def no_variant(cls: ListedClass) -> str:
    """Why a class has no variant here."""
    empty = [one.name for one in cls.parameters if not one.values]
    named = f"parameter {', '.join(empty)}" if empty else "a parameter of a fixture"
    return f"no variant: {named} has no values here"


def _alternatives(specifications: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(specifications)) or "none at all"
