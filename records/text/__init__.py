# SPDX-License-Identifier: Apache-2.0
"""Text of programs before it is shown: plain, without secrets, grouped."""
