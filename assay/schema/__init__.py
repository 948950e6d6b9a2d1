# SPDX-License-Identifier: Apache-2.0
"""Campaign files: their model, reading them with every fault named, and their JSON Schema."""

from assay.schema.loading import campaign_from_text, campaign_names, campaign_schema, load_campaign
from assay.schema.model import Campaign

__all__ = [
    "Campaign",
    "campaign_from_text",
    "campaign_names",
    "campaign_schema",
    "load_campaign",
]
