# SPDX-License-Identifier: Apache-2.0
"""A study of the past beside a run of today: its tables, figures and claims in one document."""
