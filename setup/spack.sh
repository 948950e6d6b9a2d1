#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings Spack and its package repository, both at a pinned release, to build/spack/ of the working
# folder unless there is a Spack already (SPACK_ROOT, or on PATH). ASSAY_SPACK_FROM and
# ASSAY_SPACK_PACKAGES_FROM name other places to clone from, e.g. a copy on this machine.
set -euo pipefail

clone() { # clone URL TAG FOLDER
    [ -d "$3/.git" ] && return
    rm -rf "$3" "$3.new"
    mkdir -p "$(dirname "$3")"
    git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$2" "$1" "$3.new" || {
        rm -rf "$3.new"
        echo "spack: $1 (release $2) could not be cloned. Where the web is out of reach, set" \
            "SPACK_ROOT to a Spack $spack_release and ASSAY_SPACK_PACKAGES to a checkout of its" \
            "package repository $packages_release" >&2
        exit 4
    }
    mv "$3.new" "$3"
}

spack_release=v1.1.0 packages_release=v2025.11.0
if [ -x "${SPACK_ROOT:-/nonexistent}/bin/spack" ]; then
    echo "spack: found in $SPACK_ROOT"
elif command -v spack >/dev/null; then
    echo "spack: found at $(command -v spack)"
else
    clone "${ASSAY_SPACK_FROM:-https://github.com/spack/spack.git}" "$spack_release" build/spack/spack
    echo "spack: build/spack/spack, release $spack_release"
fi
[ -n "${ASSAY_SPACK_PACKAGES:-}" ] && exit 0
clone "${ASSAY_SPACK_PACKAGES_FROM:-https://github.com/spack/spack-packages.git}" \
    "$packages_release" build/spack/packages
echo "spack: build/spack/packages, release $packages_release"
