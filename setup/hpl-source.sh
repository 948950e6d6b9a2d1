#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the distribution's HPCC source archive, which contains HPL, to build/sources/ and checks it.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=build/sources/hpcc_1.5.0.orig.tar.gz
sha256=0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8

is_right() { [ -f "$1" ] && echo "$sha256  $1" | sha256sum --check --status; }
is_right "$archive" && exit 0
echo "setup: fetching HPL's source (package hpcc)"
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
setup/distribution-sources.sh "$download" hpcc
is_right "$download"/hpcc_1.5.0.orig.tar.gz || {
    echo "setup: the fetched hpcc archive has not the checksum $sha256; not used" >&2
    exit 4
}
mkdir -p build/sources
mv "$download"/hpcc_1.5.0.orig.tar.gz "$archive"
