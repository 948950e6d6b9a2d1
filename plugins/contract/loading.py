# SPDX-License-Identifier: Apache-2.0
"""From the CONTRACT of a command line to a validated contract and its stages' criteria, or one
message with every fault."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import known_files
from assay.schema import criteria as faults
from assay.schema.document import Location, Problem, checked, model_problems, read_text
from assay.schema.loading import file_of, load_campaign
from assay.schema.model import Campaign
from checks.common.registry import Checks
from plugins.contract.log import ContractCourse, ContractFolder
from plugins.contract.model import Contract, Stage
from records.criteria import Criteria, LimitCriterion, Waiver
from records.errors import AssayError
from records.forms import DIALECT

#: The contracts that come with Assay.
SHIPPED = Path(__file__).with_name("contracts")
SCHEMA_FILE = SHIPPED / "contract.schema.json"
#: How the names of what a started contract keeps of a stage end.
_CRITERIA, _CAMPAIGN = "criteria.yaml", "campaign.yaml"
_NEEDS = "a contract needs at least schema, name, title and stages"


@dataclass(frozen=True)
class LoadedStage:
    """A stage with what its names stand for: its campaign, and its criteria with their text,
    without waivers."""

    stage: Stage
    campaign: Campaign
    criteria: Criteria
    text: str

    @property
    def campaign_file(self) -> str:
        """The file of the campaign."""
        assert self.campaign.origin is not None
        return self.campaign.origin.file

    @property
    def files(self) -> dict[str, str]:
        """Files that are kept with a started contract: criteria and campaign, by file name."""
        assert self.campaign.origin is not None
        name = self.stage.name
        return {
            f"{name}.{_CRITERIA}": self.text,
            f"{name}.{_CAMPAIGN}": self.campaign.origin.text,
        }


def load_contract(name_or_path: str) -> tuple[Contract, str, Path]:
    """The contract of a name in `campaigns/contracts/` or of a file, its text, and its file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    folder = "campaigns/contracts"
    known = sorted((path.stem, path) for path in known_files(SHIPPED, folder, "*.yaml"))
    path = file_of(name_or_path, "contract", dict(known), folder)
    text = read_text(path)
    return contract_from_text(str(path), text), text, path


def contract_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key, for editors."""
    schema = Contract.model_json_schema(by_alias=True)
    schema["title"] = "Assay contract"
    return {"$schema": DIALECT, **schema}


def contract_from_text(file: str, text: str) -> Contract:
    """The contract of a text; `file` is its name for messages. Raises as `load_contract`."""
    return Contract.model_validate(checked(file, text, _NEEDS, _problems))


def loaded_stage(contract: Contract, stage: Stage, folder: Path) -> LoadedStage:
    """A stage that is a campaign; files that it names are in `folder`. Raises AssayError naming the
    stage for a faulty one."""
    campaign = _campaign_of(stage, folder)
    if stage.judged_by is not None:
        file = _here(stage.judged_by, folder)
        try:
            return LoadedStage(stage, campaign, *faults.load_criteria(file, campaign.checks))
        except AssayError as error:
            raise AssayError(f"stage {stage.name}: {error}", error.status) from error
    given = {
        "schema": 1,
        "name": stage.name,
        "title": f"{contract.title}: {stage.title}"[:200],
        "contract": contract.contract,
        "parties": contract.parties,
        "confidence": stage.confidence,
        "least_launches": stage.least_launches,
        "rerun_blocks": stage.rerun_repeats,
        "reruns_at_most": stage.reruns_at_most,
        "confidence_of": "all",
        "failed_launches_at_most": stage.failures_allowed,
        "criteria": [one.model_dump() for one in stage.criteria],
    }
    criteria = Criteria.model_validate(given)
    return LoadedStage(stage, campaign, criteria, _text_of(criteria))


def started_stage(course: ContractCourse, stage: Stage, folder: ContractFolder) -> LoadedStage:
    """A stage of a started contract, by the criteria kept with it. Raises AssayError where its
    campaign is another than when the contract was started."""
    campaign = _campaign_of(stage, Path(course.file).parent)
    found = LoadedStage(stage, campaign, *kept_criteria(folder, stage.name, (), campaign.checks))
    kept = folder.path / f"{stage.name}.{_CAMPAIGN}"
    if found.files[kept.name] != read_text(kept):
        raise AssayError(
            f"{found.campaign_file}: was changed since the contract was started, which keeps it as"
            f" {kept}; put that back, or start the contract anew"
        )
    return found


def kept_criteria(
    folder: ContractFolder, stage: str, waivers: Sequence[Waiver], checks: Checks
) -> tuple[Criteria, str]:
    """The criteria of these checks that a started contract keeps of a stage, with waivers, and
    their text."""
    path = folder.path / f"{stage}.{_CRITERIA}"
    text = read_text(path)
    return with_waivers(faults.criteria_from_text(str(path), text, checks), text, waivers)


def with_waivers(criteria: Criteria, text: str, waivers: Sequence[Waiver]) -> tuple[Criteria, str]:
    """The criteria with further waivers, and their text."""
    if not waivers:
        return criteria, text
    found = criteria.model_copy(update={"waivers": [*criteria.waivers, *waivers]})
    return found, _text_of(found)


def _campaign_of(stage: Stage, folder: Path) -> Campaign:
    assert stage.campaign is not None
    try:
        return load_campaign(_here(stage.campaign, folder))
    except AssayError as error:
        raise AssayError(f"stage {stage.name}: {error}", error.status) from error


def _here(name: str, folder: Path) -> str:
    """A name, or the path of the file that is there in a contract's folder."""
    return str(folder / name) if "/" in name or name.endswith((".yaml", ".yml")) else name


def _text_of(criteria: Criteria) -> str:
    """The text of a criteria file (JSON, which is YAML)."""
    said = criteria.model_dump(by_alias=True, exclude_none=True)
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


def _problems(value: dict[str, Any]) -> Iterable[Problem]:
    """Every fault of a contract's value, one a place, beyond the form also of its criteria."""
    found: dict[Location, Problem] = {}
    for problem in _every_problem(value):
        found.setdefault(problem.location, problem)
    return found.values()


def _every_problem(value: dict[str, Any]) -> Iterator[Problem]:
    try:
        Contract.model_validate(value)
    except ValidationError as error:
        yield from model_problems(error, Contract, value)
    seen: set[str] = set()
    placed: list[tuple[Location, LimitCriterion]] = []
    stages = value.get("stages")
    for number, stage in enumerate(stages if isinstance(stages, list) else ()):
        if not isinstance(stage, dict):
            continue
        name = stage.get("name")
        if isinstance(name, str) and name in seen:
            place = ("stages", number, "name")
            yield Problem(place, f"the stage {name} is there twice; give another name")
        seen |= {name} if isinstance(name, str) else set()
        if stage.get("criteria") and isinstance(stage["criteria"], list):
            given = {"schema": 1, "name": "stage", "title": "stage", "criteria": stage["criteria"]}
            for problem in faults.criteria_problems(given):
                if problem.location[:1] == ("criteria",):
                    yield Problem(("stages", number, *problem.location), problem.message)
            for index, entry in enumerate(stage["criteria"]):
                with suppress(ValidationError, AttributeError):
                    one = LimitCriterion.model_validate(entry)
                    placed.append((("stages", number, "criteria", index), one))
    yield from _contradictions(placed)


def _contradictions(placed: Sequence[tuple[Location, LimitCriterion]]) -> Iterator[Problem]:
    """Limits of one value of which each keeps only what the other refuses."""
    for (_, other), (place, one) in combinations(placed, 2):
        same = (one.check, one.metric, one.where) == (other.check, other.metric, other.where)
        if not same or (one.environment or other.environment) != (
            other.environment or one.environment
        ):
            continue
        for low, high in ((one, other), (other, one)):
            least, most = low.at_least, high.at_most
            if least is not None and most is not None and least > most:
                yield Problem(
                    place,
                    f"contradicts criterion {other.id}: {low.id} asks for at least {least:g}"
                    f" {low.unit}, {high.id} for at most {most:g}; no machine can keep both,"
                    " correct one",
                )
