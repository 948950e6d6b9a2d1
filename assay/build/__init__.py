# SPDX-License-Identifier: Apache-2.0
"""`assay build`: Spack builds the MPI libraries of a site and our programs on each.

A site names an environment and a platform of `spack-env/` and what each view serves (`spack` in its
site.yaml). All that is built is below one folder, the Spack home; nothing in $HOME is touched.
"""
