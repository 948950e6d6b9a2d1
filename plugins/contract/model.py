# SPDX-License-Identifier: Apache-2.0
"""A contract as people write it: stages, each a campaign judged by criteria."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from records.criteria import LEAST_LAUNCHES, AnyCriterion, Party
from records.sections import Name, Section, key

SCHEMA = 1


class Risks(Section):
    """Greatest allowed risk of either party; a criterion beyond it is named before it is run."""

    buyer: float = key("Of accepting a machine at the limit.", "1", 0.05, gt=0, lt=0.5)
    vendor: float = key("Of not accepting a machine that keeps its promise.", "1", 0.1, gt=0, lt=1)

    def allow(self, buyer: float, vendor: float) -> bool:
        """True where both parties' risks are as the contract allows."""
        return buyer <= self.buyer + 1e-9 and vendor <= self.vendor + 1e-9


class Stability(Section):
    """A period in which outages are booked by `assay contract watch`, and what it must show."""

    days: float = key("Its length; scheduled outages prolong it.", "d", gt=0, le=3650)
    scale: float = key(
        "Days of the contract in a day of the clock: 720 makes a day of two minutes.", "1", 1, ge=1
    )
    every_s: float = key("Time between looks, in contract time.", "s", 60, gt=0)
    mtbi_h: float | None = key("Least mean time between interrupts.", "h", None, gt=0)
    mtti_h: float | None = key("Least mean time between killed jobs.", "h", None, gt=0)
    availability: float | None = key(
        "Least availability in node hours, scheduled outages left out.", "1", None, gt=0, lt=1
    )
    better: float = key(
        "Factor by which the machine is promised to be better than these limits.", "1", 4, gt=1
    )
    partitions: list[str] = key("Only nodes of these partitions; none: all.", default=[])
    file_systems: list[str] = key("Folders that are written at each look.", default=[])

    @model_validator(mode="after")
    def _promises(self) -> Stability:
        if self.mtbi_h is None and self.mtti_h is None and self.availability is None:
            raise ValueError("promises nothing; give mtbi_h, mtti_h or availability")
        if self.every_s >= self.days * 24 * 3600:
            raise ValueError("has every_s beyond its whole length; look more often")
        return self


class Stage(Section):
    """A step of the contract: a campaign judged by criteria, or a period of stability."""

    name: Name = key("Short name; commands refer to it.")
    title: str = key("Title: what it shows, in plain words.", min_length=1, max_length=200)
    campaign: str | None = key("Its campaign: a name in campaigns/, or a file.", default=None)
    checks: list[str] = key("Only these checks of the campaign; none: all.", default=[])
    environments: list[str] = key("Only these environments; none: all.", default=[])
    scale: Literal["paper", "small"] | None = key(
        "The campaign's cases as written, or in their small form.", default=None
    )
    repeats: int | None = key(
        "Launches of each case; default: the campaign's blocks.", "launches", None, ge=1, le=10_000
    )
    judged_by: str | None = key(
        "Criteria of a name in campaigns/criteria/, or of a file; in place of `criteria`.",
        default=None,
    )
    criteria: list[AnyCriterion] = key("Criteria that must hold.", default=[])
    confidence: float = key("Confidence of each one-sided bound.", "1", 0.95, ge=0.8, le=0.999)
    failures_allowed: int = key(
        "Launches of a check that may end without an answer.", "launches", 0, ge=0
    )
    rerun_repeats: int = key("Launches of a re-run of what is open.", "launches", 3, ge=2, le=30)
    reruns_at_most: int = key("Re-runs of what is open.", "runs", 3, ge=0, le=30)
    spread: float = key(
        "Coefficient of variation of a launch that risks assume where no earlier run shows it.",
        "1",
        0.02,
        gt=0,
        lt=1,
    )
    least_launches: int = key(
        "Launches below which no verdict is given.", "launches", LEAST_LAUNCHES, ge=3, le=100
    )
    holds_up: bool = key(
        "True if later stages wait until it has passed or is waived.", default=False
    )
    stability: Stability | None = key("The period, in place of a campaign.", default=None)

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Stage:
        if (self.campaign is None) == (self.stability is None):
            raise ValueError("needs a campaign with criteria, or stability; one of the two")
        if self.campaign is not None and bool(self.criteria) == bool(self.judged_by):
            raise ValueError("has a campaign, and so needs criteria or judged_by; one of the two")
        return self


class Contract(Section):
    """A contract file as written."""

    schema_: int = key("Version of this format.", alias="schema", ge=SCHEMA, le=SCHEMA)
    name: Name = key("Short name of the contract.")
    title: str = key("Title of the document.", min_length=1, max_length=200)
    contract: str = key("Name of the contract or order.", default="", max_length=500)
    parties: Annotated[list[Party], Field(min_length=1)] = key(
        "Who signs.", default=[Party(role="Buyer"), Party(role="Vendor")]
    )
    risks: Risks = key("Greatest allowed risk of either party.", default=Risks())
    stages: Annotated[list[Stage], Field(min_length=1)] = key("The steps, in their order.")

    def stage(self, name: str) -> Stage | None:
        """The stage of this name."""
        return next((one for one in self.stages if one.name == name), None)
