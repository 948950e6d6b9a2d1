# SPDX-License-Identifier: Apache-2.0
"""From the CAMPAIGN of a command line to a validated campaign, or one message with every fault, of
its parts and of rules between them; the combinations of parameters that an entry of `cases` stands
for; the JSON Schema of campaign files, for editors (`make schema` writes the shipped file again).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assay import ROOT, criteria_files, known_files
from assay.schema import document
from assay.schema.document import Location, Problem, clipped, did_you_mean, found, listed
from assay.schema.model import AnyEntry, Campaign, CaseGroup, CommandEntry, Origin, ReframeEntry
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS, Checks, checks_with
from checks.common.sizing import LINK, SizingKeys, is_relative, probed
from records.errors import AssayError
from records.input_files import read_whole
from records.plugins import folders
from records.run.plan import Plan

MAX_CASES = 1_000_000

_NO_CRITERIA = (
    "a campaign holds no criteria; write them into a file like those in campaigns/criteria/ and"
    " judge the run by it: assay accept RUN --criteria FILE"
)


def campaign_problems(
    value: dict[str, Any], folder: Path, checks: dict[str, CheckDefinition[Any]]
) -> Iterator[Problem]:
    """Faults of a campaign file's value; `folder` is the one of its files. `checks` are those that
    it may name; those that it brings are added.

    Rules between the parts are asked once each part has its form.
    """
    try:
        campaign = Campaign.model_validate(value)
    except ValidationError as error:
        for problem in document.model_problems(error, Campaign, value):
            criteria = problem.location == ("criteria",)
            yield Problem(problem.location, _NO_CRITERIA) if criteria else problem
        return
    yield from _environment_problems(campaign)
    used: set[str] = set()
    for index, entry in enumerate(campaign.cases):
        place = ("cases", index)
        known = used | (CHECKS.keys() if isinstance(entry, ReframeEntry) else set())
        if isinstance(entry, CommandEntry | ReframeEntry) and entry.check in known:
            yield Problem((*place, "name"), f"the name {entry.check} is taken; give another")
        else:
            yield from _entry_problems(entry, place, campaign, folder, checks)
        used.add(entry.check)
    for name in campaign.weights:
        yield from document.one_of(name, used, ("weights", name))
    for kind, name in campaign.judged_by.items():
        yield from document.one_of(name, criteria_files(), ("judged_by", kind))


def _environment_problems(campaign: Campaign) -> Iterator[Problem]:
    named, others = campaign.environments, campaign.otherwise
    yield from _repeated(named, ("environments",))
    yield from _repeated(others, ("otherwise",))
    for index, name in enumerate(others):
        if name in named:
            text = f"{found(name)} is listed in environments too; keep it in one of them"
            yield Problem(("otherwise", index), text)
    for name in campaign.variants:
        if name not in (*named, *others):
            text = "is not listed in environments; list it there, or remove it"
            yield Problem(("variants", name), text)


def _entry_problems(
    entry: AnyEntry,
    place: Location,
    campaign: Campaign,
    folder: Path,
    checks: dict[str, CheckDefinition[Any]],
) -> Iterator[Problem]:
    """Faults of an entry of `cases`."""
    if isinstance(entry, CommandEntry):
        from assay.schema.command import bring_command  # optional: expressions and their readers

        problems = list(bring_command(entry, folder, place, checks))
        yield from problems
        if problems:
            return
    names = [*campaign.environments, *campaign.otherwise]
    yield from _repeated(entry.environments or (), (*place, "environments"))
    for number, name in enumerate(entry.environments or ()):
        yield from document.one_of(name, names, (*place, "environments", number))
    if isinstance(entry, ReframeEntry):
        for name in ("matrix", "fixed", "small"):
            if getattr(entry, name):
                text = "is not for ReFrame tests; use reframe.params and vars"
                yield Problem((*place, name), text)
        return
    yield from _parameter_problems(entry.at("paper"), checks, place)
    if entry.small is not None:
        yield from _parameter_problems(entry.at("small"), checks, (*place, "small"))


def _repeated(values: Sequence[object], place: Location) -> Iterator[Problem]:
    """A problem for each value of a list that comes in it before."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        earlier = first.setdefault(repr(value), index)
        if earlier != index:
            text = f"{found(value)} is listed twice, first at [{earlier}]; keep one"
            yield Problem((*place, index), text)


def _parameter_problems(entry: AnyEntry, checks: Checks, place: Location) -> Iterator[Problem]:
    """Faults of the parameters of an entry of `cases`, found without expanding it."""
    if (check := checks.get(entry.check)) is None:
        yield from document.one_of(entry.check, checks, (*place, "check"))
        return
    owners = dict.fromkeys(entry.fixed, "fixed")
    twice = False
    for axis, values in entry.matrix.items():
        here = (*place, "matrix", axis)
        yield from _repeated(values, here)
        names = {name for value in values for name in _axis_settings(check, axis, value)}
        for name in sorted(names & owners.keys()):
            twice = True
            yield Problem(here, f"sets {name}, which {owners[name]} sets too; keep one")
        owners |= dict.fromkeys(names, f"matrix.{axis}")
    if not twice:
        yield from _probe_problems(entry, check, place)


def _probe_problems(
    entry: CaseGroup, check: CheckDefinition[Any], place: Location
) -> Iterator[Problem]:
    """Faults that the check's model finds, each once, where the file gives the parameter."""
    problems = dict[Problem, None]()
    for params, places in _probes(entry, check, place):
        for problem in _faults(check, params):
            name, *inside = problem.location or ("",)
            if name in places:
                problems[Problem((*places[name], *inside), problem.message)] = None
            else:
                text = f"the parameter {name} {problem.message}" if name else problem.message
                problems[Problem(place, text)] = None
    yield from problems


def _faults(definition: CheckDefinition[Any], params: dict[str, Any]) -> Iterator[Problem]:
    """Faults of parameters on any site; sizes that follow the site are tried on one."""
    model: type[BaseModel] = SizingKeys
    try:
        try:
            params = probed(definition, params) if is_relative(definition, params) else params
        except (KeyError, TypeError):  # for want of a parameter, which its model names
            params = {k: v for k, v in params.items() if k not in definition.sizing}
        model = definition.parameters
        model.model_validate(params)
    except ValidationError as error:
        yield from document.model_problems(error, model, params)
    except ValueError as error:
        yield Problem((), str(error))


def _probes(
    entry: CaseGroup, check: CheckDefinition[Any], place: Location
) -> Iterator[tuple[dict[str, Any], dict[str, Location]]]:
    """Combinations that use every value of every axis at least once, with the location of each
    parameter; the entry is at `place`.

    The first combination, then each further value of each axis with the others at their first:
    their number grows with the values, not with the combinations.
    """
    first = dict.fromkeys(entry.matrix, 0)
    further = [(axis, i) for axis, values in entry.matrix.items() for i in range(1, len(values))]
    for choice in [first, *(first | {axis: index} for axis, index in further)]:
        params = dict(entry.fixed)
        places: dict[str, Location] = {name: (*place, "fixed", name) for name in params}
        for axis, index in choice.items():
            for name, value in _axis_settings(check, axis, entry.matrix[axis][index]).items():
                inside: Location = (axis,) if name == axis else (axis, index, name)
                if name == axis and axis in _parameters(check):
                    inside = (axis, index)
                params[name], places[name] = value, (*place, "matrix", *inside)
        yield params, places


def _axis_settings(check: CheckDefinition[Any], axis: str, value: object) -> dict[str, Any]:
    """Settings of one value of an axis: a mapping sets its keys, unless the axis is a parameter."""
    if isinstance(value, Mapping) and axis not in _parameters(check):
        return dict(value)
    return {axis: value}


def _parameters(check: CheckDefinition[Any]) -> set[str]:
    return {*check.parameters.model_fields, *check.sizing}


def combinations(entry: CaseGroup, check: CheckDefinition[Any]) -> Iterator[dict[str, Any]]:
    """Each combination's parameters as given, in the file's order, the last axis fastest."""
    axes = [
        [_axis_settings(check, axis, value) for value in values]
        for axis, values in entry.matrix.items()
    ]
    for choice in product(*axes):
        params = dict(entry.fixed)
        for settings in choice:
            params.update(settings)
        yield params


def refuse_too_many_cases(campaign: Campaign) -> None:
    """Raise AssayError when the entries stand for more than MAX_CASES cases, before any is made."""
    counts = [
        math.prod(map(len, entry.matrix.values())) * len(campaign.environments_of(entry))
        for entry in campaign.cases
    ]
    if sum(counts) > MAX_CASES:
        most = max(counts)
        raise AssayError(
            f"{campaign.place(counts.index(most))}: its axes and environments make {most} cases,"
            f" {sum(counts)} in the whole campaign; allowed are at most {MAX_CASES}; shorten the"
            " axes or split the campaign"
        )


#: The campaign that a night writes into its run, an acceptance into a folder below.
RERUN = "rerun.yaml"
#: Folders of campaigns/ with files of another kind.
_NOT_CAMPAIGNS = ("criteria", "contracts")
_NEEDS = (
    "a campaign is a mapping with at least the keys schema, name, question, environments and cases"
)


def campaign_names() -> list[str]:
    """Names of the campaigns of the working folder and of Assay."""
    return sorted(_known())


def _known() -> dict[str, Path]:
    """Campaigns of plugins, of `campaigns/` and of the folders below it, by name: those of Assay,
    then those of the working folder, which come first."""
    shipped = (sorted(folder.glob("*.yaml")) for folder in folders("campaigns").values())
    files = [*chain(*shipped), *known_files(ROOT / "campaigns", "campaigns", "**/*.yaml")]
    return {path.stem: path for path in files if path.parent.name not in _NOT_CAMPAIGNS}


def load_campaign(name_or_path: str) -> Campaign:
    """The campaign of a name in `campaigns/`, or else of a file.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "campaign", _known(), "campaigns")
    above = path.absolute().parents[:2] if path.name == RERUN else ()
    checks = CHECKS
    for plan in (folder / "plan.json" for folder in above):
        if plan.is_file():  # of the run, which brought checks
            checks = checks_with(Plan.from_json(read_whole(plan), str(plan)).brought)
    return campaign_from_text(str(path), document.read_text(path), checks)


def campaign_from_text(file: str, text: str, known: Checks = CHECKS) -> Campaign:
    """The campaign of a text, which may name the checks that are `known`; `file` is its name for
    messages. Raises as `load_campaign`."""
    checks = dict(known)
    problems_of = partial(campaign_problems, folder=Path(file).parent, checks=checks)
    value = document.checked(file, text, _NEEDS, problems_of)
    campaign = Campaign.model_validate(value)
    lines = tuple(value.line_of(("cases", i)) for i in range(len(campaign.cases)))
    campaign._origin, campaign._checks = Origin(file, text, lines), checks
    refuse_too_many_cases(campaign)
    return campaign


def file_of(name_or_path: str, kind: str, known: Mapping[str, Path], folder: str) -> Path:
    """The file that a command line means: one of those `known` of `folder`, or that of a path."""
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
        exists, is_folder = path.exists() and bool(name_or_path), path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        exists = False
    if exists:
        what = "a directory" if is_folder else "not a regular file"
        raise AssayError(f"{name_or_path}: is {what}; give a {kind} file")
    raise AssayError(
        f"no {kind} {clipped(name_or_path)!r}{did_you_mean(name_or_path, known)}: it is neither a"
        f" name in {folder}/ ({listed(sorted(known))}) nor a file"
    )


SCHEMA_FILE = ROOT / "campaigns" / "campaign.schema.json"

JsonSchema = dict[str, Any]


def campaign_schema() -> JsonSchema:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key; each check has a
    definition of its parameters, which `fixed` gives."""
    schema = Campaign.model_json_schema(by_alias=True)
    definitions: JsonSchema = schema["$defs"]
    entry, command = definitions["CaseEntry"], definitions["CommandEntry"]["properties"]
    entry["properties"]["check"]["enum"] = sorted(CHECKS)
    entry["allOf"] = []
    for check in sorted(CHECKS):
        _define(check, definitions)
        named = {"properties": {"check": {"const": check}}, "required": ["check"]}
        then = {"properties": {"fixed": {"$ref": f"#/$defs/{check}"}}}
        entry["allOf"].append({"if": named, "then": then})
    for brought in (command, definitions["ReframeEntry"]["properties"]):
        for name in brought.keys() & entry["properties"].keys():
            brought[name] = {"$ref": f"#/$defs/CaseEntry/properties/{name}"}
    names = [{"enum": sorted(CHECKS)}, command["name"]]
    schema["properties"]["weights"]["propertyNames"] = {"anyOf": names}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **schema, "title": "Assay campaign"}


def _define(check: str, definitions: JsonSchema) -> None:
    """Add the parameters of a check, and what they refer to."""
    sizing = SizingKeys.model_json_schema(by_alias=True)
    model = CHECKS[check].parameters.model_json_schema(by_alias=True)
    definitions |= sizing["$defs"] | model.get("$defs", {})
    keys: JsonSchema = sizing["properties"]
    parameters: JsonSchema = model["properties"]
    parameters |= {name: keys[name] for name in sorted(CHECKS[check].sizing)}
    # A campaign may leave these to the site.
    words = [{"enum": ["fill", "half", LINK]}, keys["ranks_per_node"]["anyOf"][0]]
    for name, further in (("ranks_per_node", words), ("turns", [{"const": "auto"}])):
        if name in parameters:
            node = parameters[name]
            about = {k: node[k] for k in ("description", "unit", "default") if k in node}
            plain = {k: v for k, v in node.items() if k not in about and k != "title"}
            own = node.get("anyOf") or [plain]
            choices = [*own, *(one for one in further if one not in own)]
            parameters[name] = {"anyOf": choices, **about}
    definitions[check] = {"type": "object", "properties": parameters, "additionalProperties": False}
