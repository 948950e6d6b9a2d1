# SPDX-License-Identifier: Apache-2.0
"""Files of a check outside the tree reach the node: inputs, scripts, what its program includes."""

from pathlib import Path

from assay.tests.test_run_on_cluster import SITE, campaign, records_of, run, the_run
from assay.tests.test_run_on_cluster import of_full as pytestmark

__all__ = ["pytestmark"]

DEFINITION = '''
"""Adds what its files say."""

from checks.common.answer import Asked
from checks.common.messages import ManyRanksDefinition
from checks.common.parameters import Parameters, quantity
from records.metric import MetricDefinition


class AddParameters(Parameters):
    ranks: int = quantity("Ranks.", "ranks", 2, ge=1, le=8)
    ranks_per_node: int = quantity("Ranks on each node.", "ranks", 1, ge=1, le=8)


class AddDefinition(ManyRanksDefinition[AddParameters]):
    name = "add"
    title = "Add"
    deciding = shown = "total"
    parameters = AddParameters
    metrics = (MetricDefinition("total", "1", "higher", "what the files say, over all ranks"),)

    def bytes_per_rank(self, params):
        return 0

    def estimate_s(self, params, layout, site):
        return site.launch_overhead_s


CHECK = AddDefinition()
'''
PROGRAM = """
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "parts/unit.inc"

#include <mpi.h>
#include <stdio.h>

static int number;

static void prepare(void *context) {
    (void)context;
    int more = 0;
    FILE *input = fopen("parts/input.txt", "r"), *script = popen("./helper.sh", "r");
    fail_answer(!input || fscanf(input, "%d", &number) != 1, __func__, "no parts/input.txt");
    fail_answer(!script || fscanf(script, "%d", &more) != 1, __func__, "no helper.sh");
    number = number * UNIT + more;
}

static void measure(void *context) {
    (void)context;
    int total = 0;
    MPI_Reduce(&number, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world.rank == 0)
        report_metric("total", "1", total, NULL, 0, NULL, 0);
}

int main(int argc, char **argv) {
    const struct program program = {"add", "Adds; JSON lines", NULL, 0, prepare, measure, NULL};
    return program_main(&program, NULL, argc, argv);
}
"""


def write_add(checks: Path) -> None:
    add = checks / "add"
    (add / "parts").mkdir(parents=True)
    (add / "__init__.py").write_text(DEFINITION)
    (add / "add.c").write_text("#define _POSIX_C_SOURCE 200809L\n" + PROGRAM)
    (add / "parts" / "unit.inc").write_text("#define UNIT 100\n")
    (add / "parts" / "input.txt").write_text("7\n")
    (add / "helper.sh").write_text("#!/bin/sh\necho 5\n")
    (add / "helper.sh").chmod(0o755)


def test_what_is_beside_a_program_is_there_where_it_runs(cluster, folder):
    write_add(folder / "mine")
    name = campaign(folder, "add", "mpich", 1, "  - check: add\n")
    status, output = run(name, "--site", SITE, "--checks", "mine/", "--no-report")
    assert status == 0, output
    (record,) = records_of(the_run(folder, "add"))
    assert [metric.value for metric in record.metrics if metric.name == "total"] == [2 * 705]
