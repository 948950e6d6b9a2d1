# SPDX-License-Identifier: Apache-2.0
"""All that the benches use of the code that judges, so that a change there is met in one place."""

from plugins.predict.predict import predict
from reports.analysis.cells import LEAST_DIFFERENCE
from reports.analysis.compare import Comparisons, Judgements, compare_environments
from reports.analysis.races import outcome, races
from reports.judgement import Finding, Judgement
from reports.load.nights import nights_of
from reports.verdicts.acceptance.judge import judge as judge_acceptance
from reports.verdicts.acceptance.values import (
    CriterionEvidence,
    LaunchRef,
    Values,
    gather,
    stated_rates,
)
from reports.verdicts.comparison import day_spreads, two_days_interval
from reports.verdicts.nightly.check import check_history
from reports.verdicts.nightly.forms import NightFinding
from reports.verdicts.nightly.judge import judge as judge_night
from reports.verdicts.nightly.tonight import Rules, evidence, rules_for

__all__ = [
    "LEAST_DIFFERENCE",
    "Comparisons",
    "CriterionEvidence",
    "Finding",
    "Judgement",
    "Judgements",
    "LaunchRef",
    "NightFinding",
    "Rules",
    "Values",
    "check_history",
    "compare_environments",
    "day_spreads",
    "evidence",
    "gather",
    "judge_acceptance",
    "judge_night",
    "nights_of",
    "outcome",
    "predict",
    "races",
    "rules_for",
    "stated_rates",
    "two_days_interval",
]
