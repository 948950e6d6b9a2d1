# SPDX-License-Identifier: Apache-2.0
"""How numbers, cases and environments are written, the same wherever a reader meets them."""
