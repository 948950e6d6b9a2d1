# SPDX-License-Identifier: Apache-2.0
"""Acceptance in stages, with waivers and signatures."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="contract",
    commands={
        "contract": Command(
            "an acceptance in stages: waivers, signatures, outages, one document",
            "plugins.contract.command:declare",
        )
    },
    hooks={
        "criterion_judges": "plugins.contract.judging:JUDGES",
        "report_section": "plugins.contract.mixes:report_section",
        "throughputs": "plugins.contract.mixes:throughputs",
    },
    forms={
        "contract": "plugins.contract.forms:ContractForm",
        "contract-watch": "plugins.contract.stability.result:StabilityForm",
    },
    schemas={"contract": "plugins.contract.loading:contract_schema"},
)
