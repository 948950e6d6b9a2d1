# SPDX-License-Identifier: Apache-2.0
"""A whole history at a glance: changes, noise, references, nodes, flaky tests."""
