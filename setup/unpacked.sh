#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian packages to build/unpacked/PACKAGE, without installing them: a foreign cluster has
# environment-modules, which conflicts with lmod.
set -euo pipefail
cd "$(dirname "$0")/.."
for package in "$@"; do
    folder=build/unpacked/$package
    [ ! -d "$folder" ] || continue
    mkdir -p "$folder.new"
    (cd "$folder.new" && apt-get -q download "$package" && dpkg-deb -x ./*.deb . && rm ./*.deb)
    mv "$folder.new" "$folder"
done
