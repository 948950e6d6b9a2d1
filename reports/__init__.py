# SPDX-License-Identifier: Apache-2.0
"""WHAT it means: records in, tables, plots and verdicts out."""
