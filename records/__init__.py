# SPDX-License-Identifier: Apache-2.0
"""The contract: plan, record, metric, outcome, provenance and history, and how they lie on disk."""
