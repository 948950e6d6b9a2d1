# SPDX-License-Identifier: Apache-2.0
"""Criteria files of an acceptance: reading them with every fault named."""
