# SPDX-License-Identifier: Apache-2.0
"""Pure statistics: sequences in, frozen dataclasses out."""
