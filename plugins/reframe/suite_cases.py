# SPDX-License-Identifier: Apache-2.0
"""Suite of ReFrame tests and a site: which of its classes can run there, and a test of it in a
campaign, made into cases of a check that it brings.

The suite's code runs in the child process of a listing only.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

from assay.commands import output_of
from assay.schema.document import did_you_mean, listed
from assay.schema.model import Campaign, CaseEntry, ReframeEntry, ReframeMetric
from assay.sites.site import Site
from checks.common.registry import Checks, checks_with
from checks.common.session.launch_commands import LAUNCHERS
from plugins.reframe.classes import digest_of, no_modules, planned
from plugins.reframe.listing import (
    ListedClass,
    ListedVariant,
    Listing,
    Surroundings,
    configuration_for,
    list_files,
)
from records.errors import AssayError
from records.forms import Form, Part, key
from records.metric import MetricDefinition
from records.run.brought import ReframeTest, TestFigure
from records.run.plan import canonical_json
from records.units import better_of, si_of


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


_JOB = ("cpus_per_task", "resources", "alone", "once")


def surroundings_of(site: Site) -> Surroundings:
    """Names and variables that the files of a suite find on a site."""
    described = site.description
    further: dict[str, Any] = described.model_dump()["reframe"]
    partition = {
        **further,
        "name": described.partition,
        "processor": {**further.get("processor", {}), "num_cpus": described.cores_per_node},
        "resources": [{"name": k, "options": v} for k, v in described.resources.items()],
    }
    return Surroundings(
        environment=site.variables(),
        configuration=configuration_for(
            site.name,
            partition,
            {name: one.features for name, one in described.environments.items()},
            modules_system=described.modules_system,
        ),
    )


class SuiteTest:
    """Entry of a campaign: the check of the test, its cases, and what of it cannot run; `checks`
    are those that its campaign has without it."""

    def __init__(self, campaign: Campaign, entry: ReframeEntry, site: Site, checks: Checks) -> None:
        self.entry, self.asked, self.site = entry, entry.reframe, site
        self._checks = checks
        self.left_out: list[str] = []
        folder = Path(campaign.origin.file).parent if campaign.origin else Path()
        self.file, *path = (
            (folder / Path(one).expanduser()).resolve()
            for one in (self.asked.file, *self.asked.path)
        )
        self.path = [*map(str, path)]
        self.seen_as = {
            ours: theirs
            for theirs, one in self.asked.environments.items()
            for ours in ([one] if isinstance(one, str) else one)
        }
        there = [*site.description.environments]
        if strange := sorted({*self.seen_as} - {*there}):
            raise AssayError(
                f"environments: no {strange[0]!r} on the site; allowed: {listed(there)}"
            )
        digest = digest_of(self.file, self.asked.class_)
        cls = self._listed()
        if cls.kind == "compile":
            raise AssayError(f"{cls.name} compiles only; name a test that runs")
        variants = self._variants(cls)
        environments = self._environments(campaign.environments_of(entry), variants[0])
        layouts = [self._layout(variant) for variant in variants]
        test = self._kept(cls, variants, digest, sorted({note for _, note in layouts if note}))
        self.check = checks_with({entry.check: test})[entry.check]
        self.entries = [*self._cases(test, zip(variants, layouts, strict=True), environments)]

    def _cases(
        self,
        test: ReframeTest,
        laid_out: Iterable[tuple[ListedVariant, tuple[dict[str, int], str]]],
        environments: list[str],
    ) -> Iterator[CaseEntry]:
        """The cases of the variants; none where no environment is fit."""
        source = canonical_json([test.digest, test.commit, test.cls, test.variables, test.extras])
        each = [
            {
                **layout,
                "source": hashlib.sha256(source.encode()).hexdigest()[:16],
                **planned(variant.parameters),
            }
            for variant, (layout, _) in laid_out
        ]
        job = {name: value for name in _JOB if (value := getattr(self.entry, name))}
        if environments:
            matrix, check = {"variant": each}, self.entry.check
            yield CaseEntry(check=check, matrix=matrix, environments=environments, **job)

    def _listed(self) -> ListedClass:
        """The class, as a child process lists it."""
        around = surroundings_of(self.site)
        around.variables = self.asked.vars
        if self.path:
            own = around.environment.get("PYTHONPATH", "")
            around.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*self.path, own]))
        (listing,) = list_files([self.file], around)
        self.path += listing.path
        if listing.refused:
            raise AssayError(f"{self.file}: {listing.refused}")
        found, name = {one.name: one for one in listing.classes}, self.asked.class_
        if name not in found:
            hint, there = did_you_mean(name, found), listed(found) or "none"
            raise AssayError(f"{self.file}: no test {name!r}{hint}; there are {there}")
        return found[name]

    def _kept(
        self,
        cls: ListedClass,
        variants: Sequence[ListedVariant],
        digest: str,
        notes: list[str],
    ) -> ReframeTest:
        """Part of the test that a plan keeps."""
        words = ["git", "-c", "safe.directory=*", "rev-parse", "--show-toplevel", "HEAD"]
        git = re.fullmatch(r"(.+)\n([0-9a-f]{40,64})", output_of(words, self.file.parent))
        return ReframeTest(
            file=str(self.file),
            cls=cls.name,
            path=self.path,
            suite=git[1] if git else str(self.file.parent),
            commit=git[2] if git else "",
            digest=digest,
            title=shorten(re.split(r"(?<=[.:;])\s", cls.doc)[0], 80, placeholder=" …") or cls.name,
            variables=self.asked.vars,
            seen_as=self.seen_as,
            extras=self.asked.extras,
            figures=self._figures(variants),
            fixtures=[f"{one.test_class} ({one.kind}, once a {one.scope})" for one in cls.fixtures],
            compiles="compile" in cls.kind,
            time_limit_s=max(one.time_limit_s or 0.0 for one in variants) or None,
            notes=notes,
        )

    def _variants(self, cls: ListedClass) -> list[ListedVariant]:
        """Variants with the parameters asked for."""
        known = {one.name: one.values for one in cls.parameters}
        wanted = {k: v if isinstance(v, list) else [v] for k, v in self.asked.params.items()}
        for name, values in wanted.items():
            if name not in known:
                hint = did_you_mean(name, known)
                raise AssayError(f"params: no {name!r}{hint}; allowed: {listed(known) or 'none'}")
            if odd := [one for one in values if one not in known[name]]:
                raise AssayError(f"params.{name}: {odd[0]!r}; allowed: {known[name]!s:.300}")
        found = [
            one
            for one in cls.variants
            if all(one.parameters.get(name) in values for name, values in wanted.items())
        ]
        for one in found:
            if one.modules and self.site.description.modules_system == "nomod":
                one.refused = no_modules(one.modules)
        self.left_out += [f"{one.unique_name}: {one.refused}" for one in found if one.refused]
        found = [one for one in found if not one.refused]
        if not found:
            why = "; ".join(self.left_out) or "no variant has all of these params"
            why = why if cls.variants else no_variant(cls)
            raise AssayError(f"{cls.name} cannot be made: {why}")
        return found

    def _environments(self, names: Collection[str], variant: ListedVariant) -> list[str]:
        """Names of our environments that the class takes, and that start its ranks."""
        found = []
        for name in names:
            described = self.site.description.environments.get(name)
            if described is None:
                continue  # a plan says that it is absent
            asked, seen = variant.valid_prog_environs, self.seen_as.get(name, name)
            if LAUNCHERS[described.launcher].daemons != "none":
                self.left_out.append(f"{name}: its launcher boots daemons")
            elif asked is not None and seen not in asked and name not in variant.environments:
                theirs = asked[0] if asked else "NAME"
                theirs = theirs if theirs[:1].isalpha() else json.dumps(theirs)
                self.left_out.append(
                    f"{name}: the class asks for {' or '.join(asked)}; say which environment that"
                    f" is: environments: {{{theirs}: {name}}}"
                )
            else:
                found.append(name)
        return found

    def _layout(self, variant: ListedVariant) -> tuple[dict[str, int], str]:
        """Ranks and ranks per node, and a note where the site decides on them."""
        cores, nodes = self.site.description.cores_per_node, self.site.description.nodes
        on_node, ranks, note = variant.num_tasks_per_node, variant.num_tasks, ""
        if self.asked.ranks is not None:
            ranks = self.asked.ranks
        elif ranks is not None and ranks <= 0:
            ranks = nodes * (on_node or 1)
            note = f"num_tasks = {variant.num_tasks}: {ranks} ranks on the site's {nodes} nodes"
            on_node = on_node or 1
        ranks = ranks or on_node or 1
        on_node = self.asked.ranks_per_node or on_node or min(ranks, cores)
        return {"ranks": ranks, "ranks_per_node": min(on_node, ranks)}, note

    def _figures(self, variants: Sequence[ListedVariant]) -> list[TestFigure]:
        """All that the variants measure, with direction and SI unit."""
        units = {one.name: one.unit for variant in variants for one in variant.figures}
        having = {name: self._having(name, variants) for name in units}
        said = {
            name: ReframeMetric(better=one) if isinstance(one, str) else one
            for name, one in self.asked.metrics.items()
        }
        units |= {name: one.unit or units.get(name, "") for name, one in said.items()}
        references = {one.figure: one for variant in variants for one in variant.references}
        made = []
        for name, stated in units.items():
            reference = references.get(name)
            unit = stated or (reference.unit if reference else "")
            symbol, factor = si_of(unit)
            symbol = "".join(c if c.isprintable() else "?" for c in symbol)[:40]
            sides = (reference.lower, reference.upper) if reference else (None, None)
            better = said[name].better if name in said else better_of(symbol, *sides)
            if better is None:
                raise AssayError(
                    f"metrics: whether {name} ({unit or 'no unit'}) is better higher or lower is"
                    f" not known; say metrics: {{{name}: higher}} or lower"
                )
            short = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")[:80] or "figure"
            told = f"performance variable {name} of {self.asked.class_}"
            metric = MetricDefinition(short, symbol, better, told)
            known = (m for c in self._checks.values() for m in c.metrics)
            if any(one.name == short and one != metric for one in known):
                metric = MetricDefinition(f"{self.entry.check}.{short}", symbol, better, told)
            made.append(
                TestFigure(
                    variable=name,
                    unit=unit,
                    factor=factor,
                    metric=metric,
                    variants=having.get(name, []),
                )
            )
        return made

    def _having(self, figure: str, variants: Sequence[ListedVariant]) -> list[dict[str, Any]]:
        """The parameters of the variants that measure a figure; none where all do."""
        found = [
            {k: v for k, v in planned(one.parameters).items() if k not in self.asked.vars}
            for one in variants
            if figure in [known.name for known in one.figures]
        ]
        return found if len(found) < len(variants) else []
