# SPDX-License-Identifier: Apache-2.0
"""The engine: command line, campaign files, plans, runs, sites, builds."""
