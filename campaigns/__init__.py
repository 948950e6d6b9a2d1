# SPDX-License-Identifier: Apache-2.0
"""WHAT is asked: campaign files and the engine that plans, runs and records them."""
