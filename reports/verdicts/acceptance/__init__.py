# SPDX-License-Identifier: Apache-2.0
"""Acceptance: criteria judged from records, the document to be signed, and its verification."""
