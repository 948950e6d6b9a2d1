# SPDX-License-Identifier: Apache-2.0
"""What checks share: definitions, launches, evidence, the reader of what our programs print."""
