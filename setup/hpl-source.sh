#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hpl-source.sh [FILE]: brings the archive of HPCC 1.5.0, which contains HPL, to build/sources/ of the
# working folder and checks it, with `make hpl-source`: from FILE, else from Debian's package sources,
# else from its home.
set -euo pipefail
archive=build/sources/hpcc_1.5.0.orig.tar.gz
sha256=0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8
home=https://hpcchallenge.org/projectsfiles/hpcc/download/hpcc-1.5.0.tar.gz

is_right() { [ -f "$1" ] && echo "$sha256  $1" | sha256sum --check --status; }
is_right "$archive" && exit 0
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
fetched=$download/hpcc_1.5.0.orig.tar.gz
if [ -n "${1:-}" ]; then
    cp -- "$1" "$fetched"
else
    echo "setup: fetching HPL's source (hpcc 1.5.0)"
    { command -v apt-get >/dev/null && "$(dirname "$0")/distribution-sources.sh" "$download" hpcc 2>/dev/null; } ||
        curl -fsSL -o "$fetched" "$home" || wget -q -O "$fetched" "$home" || {
        echo "setup: $home cannot be had; carry the file over and say: make hpl-source HPL=FILE, or $0 FILE" >&2
        exit 4
    }
fi
is_right "$fetched" || {
    echo "setup: ${1:-the fetched hpcc archive} has not the checksum $sha256 of hpcc-1.5.0.tar.gz" \
        "($home); not used. Another archive of HPL is named in a site's site.yaml: hpl_source" >&2
    exit 4
}
mkdir -p build/sources
mv "$fetched" "$archive"
