# SPDX-License-Identifier: Apache-2.0
"""The probe job: what nodes and environments are, found by a job that runs as launches do."""
