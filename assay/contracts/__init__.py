# SPDX-License-Identifier: Apache-2.0
"""An acceptance as a contract has it: `assay acceptance`."""
