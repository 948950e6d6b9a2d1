# SPDX-License-Identifier: Apache-2.0
"""Proof of a launch: facts of its ranks, stamps of clocks, whole lines of ours."""
