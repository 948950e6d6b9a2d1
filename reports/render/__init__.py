# SPDX-License-Identifier: Apache-2.0
"""Renderers: each takes a `reports.result.Result` and knows no verdict."""
