# SPDX-License-Identifier: Apache-2.0
"""Tests of ReFrame suites in a campaign, made into cases of checks that it brings.

The suites' code runs in the child processes of a listing only, as the jobs' user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.schema.model import Campaign, CaseEntry, ReframeEntry, ReframeMetric
from assay.schema.problems import did_you_mean, listed
from assay.sites.site import Site
from checks.common.brought import bring
from checks.common.foreign.listing import ListedClass, ListedVariant
from checks.common.reframe_tests import digest_of
from checks.common.registry import CHECKS
from checks.common.session.launch_commands import LAUNCHERS
from records.errors import AssayError
from records.metric import MetricDefinition
from records.run.brought import ReframeTest, TestFigure
from records.run.plan import canonical_json
from records.unit_texts import better_of, si_of

_JOB = ("cpus_per_task", "resources", "alone", "switches", "once")


def with_suites(campaign: Campaign, site: Site) -> Campaign:
    """The campaign with cases of checks in place of ReFrame tests, which are added to the register;
    itself where it has none. What cannot run on the site is in its `left_out`. Raises AssayError
    for a test that is not there, and for a figure whose direction is not known."""
    if not any(isinstance(entry, ReframeEntry) for entry in campaign.cases):
        return campaign
    from checks.common.foreign.children import list_files  # slow: needed by suites only

    made, left_out = list[Any](), list[str]()
    for index, entry in enumerate(campaign.cases):
        if not isinstance(entry, ReframeEntry):
            made.append(entry)
            continue
        try:
            test = _Test(campaign, entry, site, list_files)
            made += test.entries
        except AssayError as error:
            raise AssayError(f"{campaign.place(index)}.reframe: {error}", error.status) from error
        left_out += [f"cases[{index}] ({entry.check}): {one}" for one in test.left_out]
    found = campaign.model_copy(update={"cases": made})
    found._left_out = left_out
    return found


class _Test:
    """One entry: the test that a plan keeps, its cases, and what of it cannot run."""

    def __init__(
        self, campaign: Campaign, entry: ReframeEntry, site: Site, list_files: Any
    ) -> None:
        self.entry, self.asked, self.site = entry, entry.reframe, site
        self.left_out: list[str] = []
        folder = Path(campaign.origin.file).parent if campaign.origin else Path()
        self.file = (folder / Path(self.asked.file).expanduser()).resolve()
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
        cls = self._listed(there, list_files)
        if cls.kind == "compile":
            raise AssayError(f"{cls.name} compiles only; name a test that runs")
        variants = self._variants(cls)
        environments = self._environments(campaign.environments_of(entry), variants[0])
        layouts = [self._layout(variant) for variant in variants]
        test = self._kept(cls, variants, digest, sorted({note for _, note in layouts if note}))
        bring({entry.check: test})
        source = canonical_json([digest, test.commit, cls.name, self.asked.vars])
        each = [
            {
                **layout,
                "source": hashlib.sha256(source.encode()).hexdigest()[:16],
                **_plain_params(variant.parameters),
            }
            for variant, (layout, _) in zip(variants, layouts, strict=True)
        ]
        job = {name: value for name in _JOB if (value := getattr(entry, name))}
        self.entries = [
            CaseEntry(check=entry.check, matrix={"variant": each}, environments=environments, **job)
        ] * bool(environments)

    def _listed(self, environments: Sequence[str], list_files: Any) -> ListedClass:
        """The class, as a child process lists it."""
        (listing,) = list_files([self.file], self._surroundings(environments), workers=1)
        if listing.refused:
            raise AssayError(f"{self.file}: {listing.refused}")
        return _named(listing.classes, self.asked.class_, self.file)

    def _kept(
        self,
        cls: ListedClass,
        variants: Sequence[ListedVariant],
        digest: str,
        notes: list[str],
    ) -> ReframeTest:
        """What a plan keeps of the test."""
        suite, commit = _suite_of(self.file)
        return ReframeTest(
            file=str(self.file),
            cls=cls.name,
            suite=str(suite),
            commit=commit,
            digest=digest,
            title=(cls.doc.split("\n")[0] or cls.name)[:100],
            variables=self.asked.vars,
            seen_as=self.seen_as,
            figures=self._figures(variants),
            fixtures=[f"{one.test_class} ({one.kind}, once a {one.scope})" for one in cls.fixtures],
            compiles="compile" in cls.kind,
            notes=notes,
        )

    def _surroundings(self, environments: Sequence[str]) -> Any:
        """What the file finds while it is listed: the site's names, its jobs' user, no network."""
        from checks.common.foreign.listing import Surroundings  # slow: needed by suites only

        described = self.site.description
        partition = {
            "name": described.partition,
            "scheduler": "slurm",
            "launcher": "srun",
            "features": ["remote", "scontrol"],
            "environs": [*environments],
            "processor": {"num_cpus": described.cores_per_node},
        }
        system = {"name": self.site.name, "hostnames": [".*"], "partitions": [partition]}
        features = {n: [*described.environments[n].features] for n in environments}
        named = [{"name": name, "features": found} for name, found in features.items()]
        return Surroundings(
            user=(self.site.jobs_user() or None),
            configuration={"systems": [system], "environments": named},
            variables=self.asked.vars,
        )

    def _variants(self, cls: ListedClass) -> list[ListedVariant]:
        """Those with the parameters asked for."""
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
        refused = [one for one in found if one.refused]
        self.left_out += [f"{one.unique_name}: {one.refused}" for one in refused]
        found = [one for one in found if not one.refused]
        if not found:
            why = "; ".join(self.left_out) or "it has no variant"
            raise AssayError(f"{cls.name} cannot be made: {why}")
        return found

    def _environments(self, names: Collection[str], variant: ListedVariant) -> list[str]:
        """Those of our environments that the class takes, and that start its ranks."""
        found = []
        for name in names:
            described = self.site.description.environments.get(name)
            if described is None:
                continue  # a plan says that it is absent
            asked, seen = variant.valid_prog_environs, self.seen_as.get(name, name)
            if LAUNCHERS[described.launcher].daemons != "none":
                self.left_out.append(f"{name}: its launcher boots daemons")
            elif asked is not None and not _takes(asked, seen, described.features):
                self.left_out.append(
                    f"{name}: the class asks for {' or '.join(asked)}; say which environment that"
                    f" is: environments: {{{asked[0] if asked else 'NAME'}: {name}}}"
                )
            else:
                found.append(name)
        return found

    def _layout(self, variant: ListedVariant) -> tuple[dict[str, int], str]:
        """Ranks and ranks per node, and a note where the site decides on them."""
        cores, nodes = self.site.description.cores_per_node, self.site.facts().nodes
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
            known = (m for c in CHECKS.values() if c.name != self.entry.check for m in c.metrics)
            if any(one.name == short and one != metric for one in known):
                metric = MetricDefinition(f"{self.entry.check}.{short}", symbol, better, told)
            made.append(TestFigure(variable=name, unit=unit, factor=factor, metric=metric))
        return made


def _named(classes: Sequence[ListedClass], name: str, file: Path) -> ListedClass:
    found = {one.name: one for one in classes}
    if name not in found:
        hint = did_you_mean(name, found)
        raise AssayError(f"{file}: no test {name!r}{hint}; there are {listed(found) or 'none'}")
    return found[name]


def _takes(asked: Sequence[str], name: str, features: Collection[str]) -> bool:
    """Whether `valid_prog_environs` take an environment: by its name, or all words of one item:
    +feature, -feature; what extras hold (%KEY=VALUE) is not looked at."""

    def fits(word: str) -> bool:
        if word[0] == "+":
            return word[1:] in features
        return word[0] == "%" or (word[0] == "-" and word[1:] not in features)

    return any(
        item in ("*", name) or (item[:1] in "+-%" and all(map(fits, item.split())))
        for item in asked
        if item
    )


def _plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a plan can hold them: deeper values as their canonical text."""

    def flat(value: Any, levels: int = 2) -> bool:
        if isinstance(value, list | dict):
            inside = value.values() if isinstance(value, dict) else value
            return levels > 0 and all(flat(one, levels - 1) for one in inside)
        return True

    return {k: v if flat(v) else canonical_json(v) for k, v in params.items()}


def _suite_of(file: Path) -> tuple[Path, str]:
    """The folder of the suite, and the commit that it is at, "" outside of git. Git itself is not
    asked: a repository can have it execute programs."""
    for folder in file.parents:
        head = folder / ".git" / "HEAD"
        try:
            text = head.read_text()[:200].strip()
            if text.startswith("ref: "):
                name = text.removeprefix("ref: ")
                ref, packed = head.parent / name, head.parent / "packed-refs"
                lines = packed.read_text().splitlines() if packed.is_file() else []
                by_name = {line[41:]: line[:40] for line in lines}
                text = ref.read_text().strip() if ref.is_file() else by_name.get(name, "")
            if re.fullmatch(r"[0-9a-f]{40,64}", text):
                return folder, text
        except (OSError, UnicodeDecodeError):
            continue
    return file.parent, ""
