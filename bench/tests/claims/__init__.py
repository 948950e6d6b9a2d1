# SPDX-License-Identifier: Apache-2.0
"""Benches of claims: verdicts against simulations with known truth."""
