# SPDX-License-Identifier: Apache-2.0
"""The criteria of an acceptance: what must hold of the records, and who has waived what."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import Discriminator, Field, Tag, field_validator

from records.sections import Name, Scalar, Section, key

SCHEMA = 1
LEAST_LAUNCHES = 3
#: The metric of a mix as a whole.
THROUGHPUT = "throughput"

Where = dict[str, Scalar]


def _promise(unit: str, **limits: float) -> Any:
    return key(
        "Value promised; the vendor's risk is that of a machine just there. Default: assumed a"
        " tenth better than the limit.",
        unit,
        None,
        **limits,
    )


class Selection(Section):
    """Values of one metric of one check, for every case and point that `where` selects."""

    check: str = key("Check whose records are judged.")
    metric: str = key("Registered name of the metric.")
    where: Where = key(
        "Parameters of the check, or keys of the metric's point, and the values they must have.",
        default={},
    )


class Criterion(Selection):
    """Keys of all kinds of criteria."""

    kind: str

    id: Name = key("Short name of the criterion; a waiver refers to it.")
    title: str = key("Condition that must hold, in plain words.", min_length=1, max_length=200)
    environment: Name | None = key("Only this environment; without it, each.", default=None)
    source: str = key("Where the limit comes from.", default="", max_length=500)
    weight: float = key(
        "Weight in a contract's score, the weighted geometric mean of value over limit.",
        "1",
        1,
        ge=0,
    )


class UnitCriterion(Criterion):
    """Keys of limits in the metric's own unit."""

    at_least: float | None = key("Least value that passes.", "unit", None)
    at_most: float | None = key("Greatest value that passes.", "unit", None)
    unit: str = key("Unit of the limit: the registered SI unit of the metric.")
    promise: float | None = _promise("unit")


class LimitCriterion(UnitCriterion):
    """The value keeps to a limit in the metric's own unit."""

    kind: Literal["limit"] = key("limit: against a value in the metric's unit.")


class MixCriterion(UnitCriterion):
    """Limit of what whole mixes of jobs came to, a value a mix: their throughput, or the
    harmonic mean of a rate (the arithmetic one of a time) over the jobs of a check."""

    kind: Literal["mix"] = key("mix: against what whole mixes of jobs came to.")
    check: str = key("Check whose jobs count; without it all do, by their throughput.", default="")
    metric: str = key(
        "throughput: work of a campaign's `weights` a node and second; of a check one of its"
        " metrics.",
        default=THROUGHPUT,
    )
    unit: str = key("Unit of the limit.", default="1/s")


class RatioCriterion(Criterion):
    """The value over another value of the same environment keeps to a limit, paired by block."""

    kind: Literal["ratio"] = key("ratio: against another measured value.")
    reference: Selection = key("The value it is divided by; must select one case and point.")
    at_least: float | None = key("Least ratio that passes.", "1", None, gt=0)
    at_most: float | None = key("Greatest ratio that passes.", "1", None, gt=0)
    promise: float | None = _promise("1")


class SpreadCriterion(Criterion):
    """The launches agree: their coefficient of variation is small."""

    kind: Literal["spread"] = key("spread: launches of one case must agree.")
    cv_at_most: float = key("Greatest coefficient of variation that passes.", "1", gt=0, le=1)


class NodesCriterion(Criterion):
    """All nodes are alike: none is worse than the good nodes by more than `within`."""

    kind: Literal["nodes"] = key("nodes: every node against the good nodes.")
    within: float = key(
        "Greatest shortfall of a node against the good nodes' median.", "1", 0.05, gt=0, lt=1
    )
    modified_z: float = key(
        "A node stands out beyond this modified z-score, in the bad direction.", "1", 3.5, gt=0
    )


class LinksCriterion(Criterion):
    """All links are alike: every pair of nodes against the best pair, or the good ones' median."""

    kind: Literal["links"] = key("links: every pair of nodes against the other pairs.")
    of: Literal["best", "median"] = key("Value that a pair is compared with.", default="median")
    at_least: float | None = key("Least share that passes, e.g. 0.93.", "1", None, gt=0, le=1)
    at_most: float | None = key("Greatest multiple that passes, e.g. 2.1.", "1", None, ge=1)


class EfficiencyCriterion(Criterion):
    """A rate over a peak: of its ranks as DGEMM measured it, or the nominal one of the site."""

    kind: Literal["efficiency"] = key("efficiency: a rate against a peak.")
    peak: Literal["measured", "nominal"] = key(
        "measured: ranks × the mean rate of a rank in `reference`; nominal: what the site declares,"
        " ranks × core_peak_flop_per_s, memory_bytes_per_second of a node, or a link's payload."
    )
    reference: Selection | None = key("Per-node rate of the measured peak.", default=None)
    at_least: float = key("Least efficiency that passes.", "1", gt=0, le=1)
    promise: float | None = _promise("1", gt=0, le=1)
    required: bool = key(
        "True if it stays open where the site declares no nominal rate; else it is left out there,"
        " and named.",
        default=True,
    )


class SuccessCriterion(Criterion):
    """Enough launches of a check end with the right answer."""

    kind: Literal["success"] = key("success: the share of launches with the right answer.")
    metric: Literal["answers"] = key("Always answers.", default="answers")
    at_least: float = key("Least share that passes.", "1", gt=0, lt=1)
    promise: float | None = key(
        "Share promised. Default: assumed a fifth of the failures.", "1", None, gt=0, lt=1
    )


def _kind(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in KINDS else "limit"


AnyCriterion = Annotated[
    Annotated[LimitCriterion, Tag("limit")]
    | Annotated[RatioCriterion, Tag("ratio")]
    | Annotated[SpreadCriterion, Tag("spread")]
    | Annotated[NodesCriterion, Tag("nodes")]
    | Annotated[LinksCriterion, Tag("links")]
    | Annotated[EfficiencyCriterion, Tag("efficiency")]
    | Annotated[SuccessCriterion, Tag("success")]
    | Annotated[MixCriterion, Tag("mix")],
    Discriminator(_kind),
]
#: The kinds of criteria by the word in the file.
KINDS: dict[str, type[Criterion]] = {
    tag.tag: kind for kind, tag in map(get_args, get_args(get_args(AnyCriterion)[0]))
}


class Waiver(Section):
    """A failed criterion that is accepted all the same, by somebody, for a reason, until a day."""

    criterion: Name = key("Id of the criterion that is waived.")
    subject: str | None = key(
        "Only for this node (n2) or pair of nodes (n1–n2, written n1-n2); without it, all of it.",
        default=None,
        min_length=1,
        max_length=130,
    )
    author: str = key("Who waives it.", min_length=1, max_length=200)
    reason: str = key("Why.", min_length=1, max_length=2000)
    expires: str = key("Last day on which it holds, as 2027-03-31.", min_length=10, max_length=10)

    @field_validator("author", "reason")
    @classmethod
    def _is_said(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank; a waiver says who waives it, and why")
        return value

    @field_validator("expires")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        try:
            date.fromisoformat(value)
        except ValueError:
            raise ValueError(f'found "{value}"; allowed is a day such as 2027-03-31') from None
        return value


class Party(Section):
    """Somebody who signs."""

    role: str = key("For example Buyer, Vendor, Witness.", min_length=1, max_length=100)
    organisation: str = key("For whom.", default="", max_length=200)
    name: str = key("Who signs, if that is known.", default="", max_length=200)


class Criteria(Section):
    """A criteria file as written."""

    schema_: int = key("Version of this format.", alias="schema", ge=SCHEMA, le=SCHEMA)
    name: Name = key("Short name of this set of criteria.")
    title: str = key("Title of the document.", min_length=1, max_length=200)
    contract: str = key("Contract or order that it belongs to.", default="", max_length=500)
    parties: list[Party] = key(
        "Who signs the document.", default=[Party(role="Buyer"), Party(role="Vendor")]
    )
    confidence: float = key("Confidence of each one-sided bound.", "1", 0.95, ge=0.8, le=0.999)
    confidence_of: Literal["judgement", "all"] = key(
        "Scope of the confidence: each judgement by itself, or the first one and all re-runs"
        " together.",
        default="judgement",
    )
    least_launches: int = key(
        "Launches below which no verdict is given.", "launches", LEAST_LAUNCHES, ge=3, le=100
    )
    rerun_blocks: int = key("Blocks of a re-run; two at least.", "blocks", 3, ge=2, le=30)
    reruns_at_most: int = key(
        "Re-runs of what is undecided, one after the other; then it stays open.",
        "runs",
        5,
        ge=0,
        le=30,
    )
    failed_launches_at_most: int = key(
        "Launches that may end without an answer; a wrong answer is never allowed.",
        "launches",
        0,
        ge=0,
    )
    unproven: Literal["refuse", "accept"] = key(
        "Treatment of launches without evidence from inside the ranks; where they do not count,"
        " what rests on them is INCONCLUSIVE.",
        default="refuse",
    )
    criteria: Annotated[list[AnyCriterion], Field(min_length=1)] = key("Criteria that must hold.")
    waivers: list[Waiver] = key("Failed criteria that are accepted all the same.", default=[])

    def with_mixes_of(self, blocks: int) -> Criteria:
        """These criteria where so many blocks are one mix (0: none): a re-run is of whole ones."""
        whole = -(-self.rerun_blocks // (blocks or 1)) * (blocks or 1)
        return self.model_copy(update={"rerun_blocks": whole})
