# SPDX-License-Identifier: Apache-2.0
"""The checks by ReFrame's own command line: what it lists, what can be set, and the figures."""

import json
import re
import sys
from pathlib import Path

import pytest
from msgspec.json import encode

from assay.cli.main import main
from assay.schema.loading import load_campaign
from assay.sites.site_file import read_description
from checks.common.registry import CHECKS
from checks.common.tests.dry_runs import dry_run, make_site, write_launches
from checks.common.tests.good_outputs import samples
from checks.common.tests.program_runs import ran
from records.metric import figure_name
from records.site.limits import Nominal, bound

REFRAME = str(Path(sys.executable).with_name("reframe"))
FOLDER = Path(__file__).resolve().parents[2]
LISTED = re.compile(r"^- (\w+?)(?:_part\d+)?( %.*)? /[0-9a-f]{8}$", re.M)
#: Prints unit, value and reference of each figure of a launch with these metrics.
FIGURES = """
import json, sys
import msgspec
from reframe.core import runtime
from reframe.core.config import load_config
config = load_config(sys.argv[1])
config.select_subconfig()
runtime.init_runtime(config)
from checks.common.registry import CHECKS
from checks.common.session.classes import swept
from checks.common.session.outcome import Outcome
check, params, outcome = json.loads(sys.stdin.read())
test = swept(check, CHECKS[check], {"matrix": {}, "fixed": params})(variant_num=0)
test._current_partition = runtime.runtime().system.partitions[0]
test.outcome = msgspec.convert(outcome, Outcome)
test.report_figures()
values = {name: [one.evaluate(), one.unit] for name, one in test.perf_variables.items()}
known = (name for name in values if f"a:b:{name}" in test.reference)
references = {name: test.reference[f"a:b:{name}"] for name in known}
print(json.dumps([values, references]))
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """The configuration that `assay site reframe` writes of a virtual cluster that is not up."""
    file = tmp_path_factory.mktemp("reframe") / "settings.py"
    assert main(["site", "reframe", "virtual:no-such", "--output", str(file)]) == 0
    return file


def own_settings(folder, site, *sweep):
    """The configuration of a site of our own making; its stages are below `own`."""
    given = ", ".join(f"json.loads({json.dumps(one)!r})" for one in (site, sweep))
    call = given.replace(", json", f", {str(folder / 'own')!r}, json", 1)
    text = f"site_configuration = by_hand({call})\n"
    file = folder / "settings.py"
    file.write_text(f"import json\nfrom checks.common.session.settings import by_hand\n{text}")
    return file


def reframe(settings, *options):
    """What ReFrame says when it is called in another folder than Assay's."""
    words = [REFRAME, "-C", str(settings), "-c", str(FOLDER), "-R", "--nocolor", *options]
    return ran(words, {}, cwd=settings.parent, check=False).stdout


@pytest.mark.plugins("papers")
def test_reframe_lists_every_check_with_the_sweep_of_measurements(settings):
    said = reframe(settings, "-l")
    assert "WARNING" not in said
    listed = LISTED.findall(said)
    assert {check for check, _ in listed} == {*CHECKS}
    axes = {
        (entry.check, axis)
        for entry in load_campaign("measurements").cases
        for axis in entry.matrix
    }
    found = {
        (check, axis) for check, params in listed for axis in re.findall(r"%(\w+)=", params or "")
    }
    assert found == axes
    assert ("collectives", " %ranks=8") in listed


def test_parameters_are_set_and_filtered(settings):
    mpich = ("-l", "-p", "^mpich$", "-n", "^echo$|^startup$")
    assert "- echo_part" not in reframe(settings, *mpich)
    said = reframe(settings, "-l", "-p", "^mpich$", "-n", "startup%ranks=4")
    assert [params for _, params in LISTED.findall(said)] in ([" %ranks=4"], [])
    said = reframe(settings, "-l", "-p", "^mpich$", "-n", "^hpl", "-S", "hpl.n=many")
    assert "params.n: Input should be a valid integer, found 'many'" in said
    said = reframe(settings, "-l", "-p", "^mpich$", "-n", "^hpl", "-P", "nb=64,100")
    assert re.findall(r"^- hpl %\.nb=(\d+)", said, re.M) == ["64", "100"]


def test_what_is_set_reaches_the_job_and_what_does_not_fit_is_skipped(settings):
    options = ("-S", "pt2pt.sizes=[300, 700]", "-S", 'pt2pt.constructs=["Send/Recv"]')
    said = reframe(settings, "--dry-run", "--keep-stage-files", "-p", "^mpich$", *options)
    stages = {script.parent.name: script for script in settings.parent.rglob("rfm_job.sh")}
    (script,) = [one for name, one in stages.items() if name.startswith("pt2pt")]
    asked = "--constructs=Send/Recv --sizes=300,700 --iterations="
    assert asked in script.read_text()
    assert "lacks program:osu" in said
    assert re.search(r"\[ +SKIP .* collectives %ranks=8 .*\[8 ranks at 1 a node need 8 nodes", said)


def test_a_launch_of_assay_is_of_the_same_class(tmp_path):
    site = make_site(tmp_path, {}, nodes=4, memory_bytes_per_node=2**33)
    params = CHECKS["startup"].parameters(ranks=2, ranks_per_node=1)
    asked = {"ranks": 2, "ranks_per_node": 1, "nodes": 2, "index": 0, "case_id": "startup-12345678"}
    asked |= {"check": "startup", "block": 1, "environment": "mpich", "attempt": 1}
    write_launches(tmp_path, [{**asked, "params": params.complete(), "limit_s": 77.0}])
    answer, ours = dry_run(tmp_path, "launches.py", "--keep-stage-files")
    assert answer.returncode == 0, answer.stdout[-3000:]
    (script,) = [text for stage, text in ours.items() if stage.name.startswith("L0")]
    entry = {"check": "startup", "matrix": {}, "fixed": {"ranks": 2, "ranks_per_node": 1}}
    conf = own_settings(tmp_path, site, entry)
    reframe(
        conf, "--dry-run", "--keep-stage-files", "-p", "^mpich$", "-n", "startup",
        "-S", "startup.launch_limit_s=77",
    )  # fmt: skip
    (own,) = [
        one.read_text()
        for one in (tmp_path / "own").rglob("rfm_job.sh")
        if "startup" in one.parent.name
    ]

    def plain(text):
        """Without what differs by design: names, folders and the token."""
        text = re.sub(r"ASSAY_TOKEN=\S+|#SBATCH --(job-name|output|error)\S*.*|/\S+/out/", "", text)
        return [line for line in text.splitlines() if line.strip()]

    assert plain(own) == plain(script)


@pytest.mark.parametrize("name", ["pt2pt mpich", "hpl launch.mpich", "osu osu-7.4.mpich.osu_bw"])
def test_figures_are_those_of_assay_digit_for_digit(tmp_path, name):
    sample = next(one for one in samples() if one.name == name)
    outcome = sample.outcome(sample.text)
    assert outcome.status == "ok"
    given = json.dumps(
        [sample.definition.name, sample.params.complete(), json.loads(encode(outcome))]
    )
    network = {**read_description("virtual").model_dump()["network"], "bits_per_second": 1e9}
    site = make_site(tmp_path, {}, nodes=4, memory_bytes_per_node=2**33, network=network)
    settings = own_settings(tmp_path, {**site, "cores_per_node": 1})
    words = [sys.executable, "-P", "-c", FIGURES, str(settings)]
    values, references = json.loads(ran(words, {}, input=given).stdout.splitlines()[-1])
    assert values == {figure_name(m): [m.value, m.unit] for m in outcome.metrics}
    assert len(values) == len(outcome.metrics)
    rates, bounds = Nominal(link_bytes_per_s=1.25e8), {}
    for one in outcome.metrics:
        metric = sample.definition.metrics_by_name[one.name]
        if (limit := bound(metric, one.at or {}, 2, 1, rates)) is not None:
            margins = (None, 0.0) if metric.better == "higher" else (-0.0, None)
            bounds[figure_name(one)] = [limit, *margins, one.unit]
    assert references == bounds
    assert ("osu_bandwidth_message_bytes_65536" in bounds) is name.startswith("osu")
