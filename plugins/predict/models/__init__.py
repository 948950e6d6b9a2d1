# SPDX-License-Identifier: Apache-2.0
"""Models of measured times: pure functions of numbers, each with its source."""
