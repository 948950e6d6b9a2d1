# SPDX-License-Identifier: Apache-2.0
"""Test files of other people's ReFrame suites: listed by child processes, never imported here."""
