# SPDX-License-Identifier: Apache-2.0
"""A published study compared with a run: its tables, figures and claims in one document."""
