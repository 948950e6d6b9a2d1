# SPDX-License-Identifier: Apache-2.0
"""Criteria files of an acceptance: their model, and reading them with every fault named.

Kept free of imports, so that `reports` can use the model without what a campaign file needs.
"""
