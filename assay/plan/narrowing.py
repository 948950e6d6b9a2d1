# SPDX-License-Identifier: Apache-2.0
"""Part of a campaign that a command line and the environments of the site leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.schema import Campaign
from assay.schema.model import Scale
from assay.schema.problems import did_you_mean, listed
from assay.sites.site import SiteFacts
from records.errors import AssayError


@dataclass(frozen=True)
class Narrowing:
    """Part of a campaign that a command line leaves; where nothing is said, all of it. `nodes` is
    the greatest number that a launch may use."""

    environments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    nodes: int | None = None
    blocks: int | None = None
    scale: Scale | None = None

    def as_plain(self) -> dict[str, list[str] | int]:
        """Values that are said, by option, as a plan keeps them."""
        said: dict[str, list[str] | int] = {
            "environments": list(self.environments),
            "checks": list(self.checks),
            "nodes": self.nodes or 0,
            "blocks": self.blocks or 0,
            "scale": [self.scale] if self.scale else [],
        }
        return {option: value for option, value in said.items() if value}

    def of_campaign(self, campaign: Campaign) -> Campaign:
        """The campaign with these environments, checks and blocks only. Raises AssayError for a
        name that the campaign does not have."""
        environments = [*campaign.environments, *campaign.otherwise]
        checks = list(dict.fromkeys(entry.check for entry in campaign.cases))
        for option, asked, known in (
            ("--environments", self.environments, environments),
            ("--checks", self.checks, checks),
        ):
            for name in asked:
                if name not in known:
                    raise AssayError(
                        f"{option} {name}: campaign {campaign.name} has no such name"
                        f"{did_you_mean(name, known)}; it has {listed(known)}"
                    )
        kept, scale = self.environments or environments, self.scale or campaign.scale
        # Entries keep their places, by which messages name them.
        cases = [
            one if one.check in (self.checks or checks) else one.model_copy(update=_NOWHERE)
            for one in (entry.at(scale) for entry in campaign.cases)
        ]
        return campaign.model_copy(
            update={
                "environments": [name for name in campaign.environments if name in kept],
                "otherwise": [name for name in campaign.otherwise if name in kept],
                "blocks": self.blocks or campaign.blocks,
                "cases": cases,
            }
        )

    def of_site(self, site: SiteFacts) -> SiteFacts:
        """The site with so many of its nodes. Raises AssayError for more than it has."""
        if self.nodes is None:
            return site
        if self.nodes > site.nodes:
            raise AssayError(
                f"--nodes {self.nodes}: site {site.name} has {site.nodes} nodes; give at most"
                f" {site.nodes}, or leave the option out"
            )
        return replace(site, nodes=self.nodes)


WHOLE = Narrowing()
_NOWHERE: dict[str, list[str]] = {"environments": []}


def present(campaign: Campaign, site: SiteFacts) -> tuple[Campaign, dict[str, str]]:
    """The campaign with those environments only that the site has, and why not the others. Raises
    AssayError when none is left."""
    absent = {
        name: site.absent.get(name)
        or f"site {site.name} has no environment {name!r}{did_you_mean(name, site.environments)}"
        for name in (*campaign.environments, *campaign.otherwise)
        if name not in site.environments
    }
    asked = [name for name in campaign.environments if name not in absent]
    found = asked or [name for name in campaign.otherwise if name not in absent]
    if not found:
        reasons = "; ".join(absent[name] for name in campaign.environments if name in absent)
        raise AssayError(
            f"campaign {campaign.name}: none of its environments is there: {reasons}; site"
            f" {site.name} has {listed(sorted(site.environments)) or 'none'}"
        )
    if asked:
        absent = {name: absent[name] for name in campaign.environments if name in absent}
    variants = {name: variant for name, variant in campaign.variants.items() if name in found}
    return campaign.model_copy(update={"environments": found, "variants": variants}), absent


def entries_left_out(campaign: Campaign, there: Campaign) -> list[str]:
    """The entries of `campaign` that name absent environments only; `there` has the others."""
    alike: dict[tuple[str, str], list[str]] = {}
    for index, entry in enumerate(campaign.cases):
        asked = campaign.environments_of(entry)
        if asked and not there.environments_of(entry):
            alike.setdefault((entry.check, listed(asked)), []).append(f"cases[{index}]")
    return [
        f"{', '.join(places)} ({check}): only in {names}, which is not there"
        for (check, names), places in alike.items()
    ]


@dataclass(frozen=True)
class MoreBlocks:
    """Number of blocks that a command line adds to a run; `until_decided`: at most so many, by
    default as many as the run has, judged in between as a sequential design is."""

    blocks: int | None
    until_decided: bool = False
