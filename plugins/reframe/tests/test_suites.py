# SPDX-License-Identifier: Apache-2.0
"""What a campaign's ReFrame tests are made into, on a site that is a file."""

from pathlib import Path

import pytest

from assay.plan.planner import make_plan
from assay.plan.times import BETWEEN_S
from assay.run.launches import launches_to_come
from assay.schema.loading import campaign_from_text
from assay.sites import site_file
from assay.sites.loading import load_site
from checks.common.registry import checks_with
from plugins.reframe.classes.derived import class_of, variant_of
from plugins.reframe.suites import with_suites
from plugins.reframe.tests.test_suites_on_cluster import HEAD, OF_TUTORIAL, SPEED, SUITE
from records.errors import AssayError
from records.run.plan import Plan

SITE = """\
schema: 2
name: here
modules_system: nomod
partitions:
  all: {nodes: 3, cores_per_node: 2, memory_bytes_per_node: 1000000000, access: []}
environments:
  openmpi: {description: one, compiler: mpicc, launcher: assay-openmpi, library: Open MPI}
  mpich: {description: two, compiler: mpicc, launcher: assay-hydra, library: MPICH}
"""


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Plans the cases of a text."""
    folder = tmp_path / "sites" / "here"
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(SITE)
    monkeypatch.setattr(site_file, "SITES", folder.parent)

    def plan(text: str, file: Path = SUITE) -> Plan:
        site = load_site("here")
        campaign = campaign_from_text(str(file.parent / "c.yaml"), HEAD + text)
        return make_plan(with_suites(campaign, site), site.facts())

    return plan


def entry(rest: str, cls: str = "BothUnits", file: str = "traps.py") -> str:
    return f"  - reframe: {{file: {file}, class: {cls}, {rest}}}\n"


MAP = "environments: {PrgEnv-gnu: [openmpi, mpich]}"
REMEDY = 'environments: {"+mpi +prgenv -cpe": mpich}'


def test_each_variant_is_a_case_in_each_environment(planned):
    plan = planned(entry(MAP))
    assert sorted((one.params["size"], one.environment) for one in plan.cases) == [
        *((10, "mpich"), (10, "openmpi"), (20, "mpich"), (20, "openmpi"))
    ]
    assert Plan.from_json(plan.to_json()).brought == plan.brought
    assert all(one.has_its_id for one in plan.cases)


def test_parameters_select_variants_and_variables_are_part_of_the_id(planned):
    (one,), (other,) = (
        planned(entry(f"params: {{size: 20}}, {more}{MAP.replace(', mpich', '')}")).cases
        for more in ("", "vars: {num_tasks: 4}, ")
    )
    assert (one.params["size"], one.ranks, other.ranks) == (20, 1, 4)
    assert one.id != other.id


@pytest.mark.parametrize(
    ("params", "kinds"),
    [("{}", ["double", "float"]), ("{stored.element.kind: float}", ["float"])],
)
def test_variants_that_differ_by_a_fixture_are_cases_and_are_chosen(planned, params, kinds):
    plan = planned(entry(f"params: {params}, environments: {{PrgEnv-gnu: mpich}}", "ByFixture"))
    found = {one.params["stored.element.kind"]: one.params for one in plan.cases}
    assert sorted(found) == kinds
    definition = checks_with(plan.brought)["by_fixture"]
    cls = class_of(str(SUITE), "ByFixture", ())
    for kind, planned_params in found.items():
        wanted = definition.parameters.model_validate(planned_params).model_extra
        made = cls.get_variant_info(variant_of(cls, wanted), recurse=True)
        assert made["fixtures"]["stored"]["fixtures"]["element"]["params"] == {"kind": kind}


def test_a_class_of_reframe_s_tutorial_is_planned_by_its_fixture(planned):
    plan = planned(OF_TUTORIAL)
    kinds = [one.params["stream_binary.elem_type"] for one in plan.cases]
    assert sorted(kinds) == ["double", "double", "float", "float"]
    # Measured: 36 launches of this class and others of ReFrame's took 36 s on a quiet machine with
    # their builds, 53 s on a loaded one.
    assert 53 / 2.5 < 36 * (plan.cases[0].estimate_s + BETWEEN_S) + 17 < 36 * 2.5


@pytest.mark.parametrize(
    ("case", "environments"),
    [
        (("vars: {valid_prog_environs: ['*']}",), ["mpich", "openmpi"]),  # whatever the system
        (("ranks: 2", "Compiles"), ["mpich", "openmpi"]),  # by features, without a map
        ((REMEDY, "AsksForFeatures"), ["mpich"]),
        ((f"vars: {{modules: []}}, {MAP}", "NeedsModules"), ["mpich", "openmpi"]),
    ],
)
def test_environments_are_those_that_fit_or_are_mapped(planned, case, environments):
    found = planned(entry(*case)).cases
    assert sorted({one.environment for one in found}) == environments
    assert len(found) == len({(one.environment, one.params.get("size")) for one in found})


def test_another_meaning_of_passed_is_another_case(planned):
    one = planned(entry(f"{SPEED}, {MAP}", "OldStyle"))
    other = planned(entry(f"vars: {{strict_check: false}}, {SPEED}, {MAP}", "OldStyle"))
    assert not {case.id for case in one.cases} & {case.id for case in other.cases}


@pytest.mark.parametrize(
    ("rest", "limit_s"), [("vars: {time_limit: 50m}, ", range(3000, 10**6)), ("", range(600))]
)
def test_a_launch_may_take_as_long_as_its_test_allows(planned, rest, limit_s):
    plan = planned(entry(rest + MAP, "NoFigures"))
    # The limit tells little of how long it takes.
    assert {one.estimate_s < 36 for one in plan.cases} == {True}
    assert {int(one.limit_s) in limit_s for one in launches_to_come(plan, [])} == {True}


def test_a_variable_may_be_a_mapping_and_a_test_without_figures(planned):
    plan = planned(entry(f"vars: {{table: {{proc: rw}}}}, {MAP}", "NeedsTable"))
    assert plan.brought["needs_table"].variables == {"table": {"proc": "rw"}}
    plan = planned(entry(MAP, "NoFigures"))
    assert plan.brought["no_figures"].figures == []
    assert plan.brought["no_figures"].title


def test_a_module_of_the_suite_is_found_and_kept_in_the_plan(planned, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "of_the_suite.py").touch()
    copy = tmp_path / "traps.py"
    copy.write_text(f"import of_the_suite\n{SUITE.read_text()}")
    assert planned(entry(MAP), copy).brought["both_units"].path == [str(tmp_path / "kept")]


def test_a_changed_file_is_another_case_and_is_not_resumed(planned, tmp_path):
    copy = tmp_path / "traps.py"
    copy.write_text(SUITE.read_text())
    plan = planned(entry(MAP), copy)
    copy.write_text(SUITE.read_text() + "\n# changed\n")
    with pytest.raises(AssayError, match="is not the file that was planned"):
        checks_with(plan.brought)["both_units"].refuse_changed()
    assert planned(entry(MAP), copy).cases[0].id != plan.cases[0].id


def test_a_flexible_test_gets_all_nodes(planned):
    assert {(one.ranks, one.nodes) for one in planned(entry(MAP, "OwnSrun")).cases} == {(3, 3)}


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        ("BothUnits", f"foreign code, class BothUnits of {SUITE}"),
        ("Compiles", "each launch compiles"),
        ("OwnSrun", "num_tasks = 0: 3 ranks on the site's 3 nodes"),
        ("Fixture", "fixture Build (compile, once a environment)"),
    ],
)
def test_the_plan_names_foreign_code_compilation_nodes_and_fixtures(planned, cls, told):
    assert told in "\n".join(planned(entry(MAP, cls)).brings())


def test_an_environment_that_the_class_does_not_take_is_left_out_with_the_remedy(planned):
    plan = planned(entry("environments: {PrgEnv-gnu: openmpi}"))
    assert {one.environment for one in plan.cases} == {"openmpi"}
    assert "environments: {PrgEnv-gnu: mpich}" in "\n".join(plan.left_out)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry("ranks: 2", "AsksForFeatures"), REMEDY),
        (entry(f"metrics: {{}}, {MAP}", "OldStyle"), "say metrics: {speed: higher} or lower"),
        (entry(MAP, "NoValues"), "cannot be made: no variant: parameter module_name has no values"),
        (entry(MAP, "Bothunits"), "no test 'Bothunits' (did you mean BothUnits?)"),
        (entry(f"params: {{sizes: 1}}, {MAP}"), "params: no 'sizes'"),
        (entry(f"params: {{size: 30}}, {MAP}"), "params.size: 30; allowed"),
        (entry("params: {element.kind: int}", "ByFixture"), "did you mean stored.element.kind?"),
        (entry(MAP, file="gone.py"), "gone.py: cannot be read"),
        (entry("environments: {PrgEnv-gnu: other}"), "no 'other' on the site"),
        (entry(MAP, "NeedsModules"), "asks for modules GROMACS/2024, and the site has no module"),
        (entry(MAP, "AfterAnother"), "depends_on Skips: only fixtures run before a test"),
        (entry(MAP) + entry(MAP), "the name both_units is taken"),
        (entry(MAP).rstrip("\n") + "\n    matrix: {a: [1]}\n", "use reframe.params and vars"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(planned, text, words):
    with pytest.raises(AssayError) as error:
        planned(text)
    assert words in str(error.value)


def test_the_title_of_a_test_is_the_first_sentence_of_its_description(planned):
    told = 'vars: {descr: "The rate of one loop, and what follows. The rest of it is more."}, '
    (title,) = {one.title for one in planned(entry(told + MAP)).brought.values()}
    assert title == "The rate of one loop, and what follows."
