# SPDX-License-Identifier: Apache-2.0
"""`assay predict`: what a run measured, on node counts that it did not measure."""

import argparse

from assay.cli.arguments import JSON, MOST_NODES, NEWEST, declared, repeated
from assay.run.status import run_of
from assay.screens.pages import print_result
from plugins.predict.predict import predict
from plugins.predict.result import prediction_result
from plugins.predict.subjects import CHECKS
from records.errors import AssayError, ExitStatus
from reports.analysis.run import analyse
from reports.load.loading import load_run


def predict_command(arguments: argparse.Namespace) -> int:
    """Predict; INCONCLUSIVE where nothing can be predicted."""
    nodes, left_out = sorted(set(arguments.nodes)), sorted(set(arguments.leave_out))
    if not nodes and not left_out:
        raise AssayError("predict: for how many nodes? Give --nodes N, or --leave-out N")
    for count in (*nodes, *left_out):
        if not 1 <= count <= MOST_NODES:
            raise AssayError(f"predict: {count} nodes; allowed are 1 to {MOST_NODES}")
    if unknown := set(arguments.check) - set(CHECKS):
        raise AssayError(f"--check {min(unknown)}: allowed are {', '.join(CHECKS)}")
    run = run_of(
        arguments.run_name,
        lambda run: any(case.check in CHECKS for case in run.plan().cases),
        f"run of {' or '.join(CHECKS)}",
    )
    analysis = analyse(load_run(run.path))
    counts = {case.nodes for case in analysis.run.plan.cases}
    if missing := set(left_out) - counts:
        raise AssayError(
            f"--leave-out {min(missing)}: the run has no case on so many nodes; it has"
            f" {', '.join(map(str, sorted(counts)))}"
        )
    if odd := [name for name in arguments.environment if name not in analysis.looks]:
        raise AssayError(
            f"--environment {odd[0]}: not in the run; it has {', '.join(analysis.looks)}"
        )
    checks = [name for name in CHECKS if name in arguments.check or not arguments.check]
    found = predict(analysis, nodes, left_out, environments=arguments.environment, checks=checks)
    print_result(prediction_result(analysis, found), as_json=arguments.json)
    return ExitStatus.PASS if found.subjects else ExitStatus.INCONCLUSIVE


declare = declared(
    predict_command,
    NEWEST,
    repeated("--nodes N", "may be repeated", type=int),
    repeated(
        "--leave-out N",
        "predict this measured node count from the others, against the measurement; may be"
        " repeated",
        type=int,
    ),
    repeated("--environment NAME", "may be repeated"),
    repeated("--check NAME", "predict su3_rmd or hpl alone"),
    JSON,
)
