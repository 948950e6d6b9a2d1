# SPDX-License-Identifier: Apache-2.0
"""`assay acceptance`: start a contract, walk its stages, waive, sign, and make its document."""

from __future__ import annotations

import argparse

from assay.contracts.loading import campaign_of, contract_from_text, load_contract, loaded_stage
from assay.screens.screen import Screen
from assay.sites.loading import add_checks_of
from records.contract.course import ContractCourse
from records.contract.log import ContractFolder, create_contract, open_contract
from records.errors import ExitStatus
from records.input_files import read_whole
from reports.show.tables import Column


def start_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance start`: refuse a faulty contract, or make its folder."""
    add_checks_of(arguments.site)
    contract, text, path = load_contract(arguments.name)
    for stage in contract.stages:
        if stage.campaign is not None:
            campaign_of(loaded_stage(contract, stage, path.parent))
    folder = create_contract(contract.name, text)
    folder.append("started", site=arguments.site)
    return _status(folder)


def status_command(arguments: argparse.Namespace) -> int:
    """`assay acceptance status`: print how far a contract is."""
    return _status(open_contract(arguments.folder))


def course_of(folder: ContractFolder) -> ContractCourse:
    """The contract of a folder, as started, and its log. Raises AssayError for damage."""
    text = read_whole(folder.file).decode("utf-8", "replace")
    return ContractCourse(contract_from_text(str(folder.file), text), folder.entries())


def _status(folder: ContractFolder) -> int:
    course, screen = course_of(folder), Screen()
    screen.line(f"{course.contract.title}: {course.verdict}, {folder.path}")
    rows = [
        (one.name, course.verdict_of(one.name), str(len(course.attempts(one.name))), one.title)
        for one in course.contract.stages
    ]
    columns = [Column("stage"), Column("verdict"), Column("attempts", numeric=True), Column("what")]
    screen.table(columns, rows)
    return ExitStatus.PASS
