# SPDX-License-Identifier: Apache-2.0
"""What proves a launch: facts of its ranks, stamps of clocks, whole lines of ours."""
