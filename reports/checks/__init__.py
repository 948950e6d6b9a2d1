# SPDX-License-Identifier: Apache-2.0
"""Sections of checks in a report, beside the generic tables."""
