# SPDX-License-Identifier: Apache-2.0
"""What `assay advise` is held against, and what `assay profile` costs."""
