# SPDX-License-Identifier: Apache-2.0
"""Meaning of the records: one folder a verdict, side by side, each of them makes a `Result`."""
