# SPDX-License-Identifier: Apache-2.0
"""Common parts of checks: definitions, launches, evidence, the reader of what our programs
print."""
