# SPDX-License-Identifier: Apache-2.0
"""Which environment is better, in tables, pictures and sentences."""
