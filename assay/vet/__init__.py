# SPDX-License-Identifier: Apache-2.0
"""`assay vet`: whether nodes are fit, in a minute."""
