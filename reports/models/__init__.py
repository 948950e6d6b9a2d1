# SPDX-License-Identifier: Apache-2.0
"""Closed forms of measured times that several plugins use: pure functions, each with its source."""
