# SPDX-License-Identifier: Apache-2.0
"""The register of schema 1, until each reader asks its plan."""

from records.metric import schema_1_register

REGISTER = schema_1_register().metrics
CHECK_METRICS = schema_1_register().checks
