# SPDX-License-Identifier: Apache-2.0
"""What a report says of the study whose campaign was run: its claims, and where the rest is."""

from __future__ import annotations

from dataclasses import dataclass

from reports.analysis import Analysis
from reports.papers.claims import Judged, claims_table, judge
from reports.papers.definition import Study, load_study, studies
from reports.show.tables import Table


@dataclass(frozen=True)
class StudySection:
    """A study in the report of a run. `file`: its document in the run directory, if it is there."""

    study: Study
    claims: Table
    file: str

    @property
    def command(self) -> str:
        """What writes the document."""
        return f"assay paper {self.study.name} RUN"


def study_section(analysis: Analysis) -> StudySection | None:
    """The section of a run whose campaign is a study's; None for another one."""
    run = analysis.run
    if run.plan.campaign not in studies():
        return None
    study = load_study(run.plan.campaign)
    claims = claims_table([Judged(claim, judge(claim, analysis)) for claim in study.claims])
    file = f"paper/{study.name}.html"
    return StudySection(study, claims, file if (run.directory / file).is_file() else "")
