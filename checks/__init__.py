# SPDX-License-Identifier: Apache-2.0
"""HOW one point is measured: ReFrame checks, launchers, adapters for foreign output."""
