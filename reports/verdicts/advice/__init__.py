# SPDX-License-Identifier: Apache-2.0
"""Which environment an application should use, from its profile and a run's curves."""
