# SPDX-License-Identifier: Apache-2.0
"""Notation of numbers, cases and environments, the same wherever a reader meets them."""
