# SPDX-License-Identifier: Apache-2.0
"""Environments against each other: effects, verdict words, matrix, crossovers, ranking."""
