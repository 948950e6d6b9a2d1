# SPDX-License-Identifier: Apache-2.0
"""A run on disk: its plan, its records, its provenance, its raw output."""
