# SPDX-License-Identifier: Apache-2.0
"""`assay profile`: the MPI profile of any application."""
