#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the distribution's HPCC source archive, which contains HPL, to build/sources/ and checks
# it. Uses the machine's own package sources with an apt state of its own; changes nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=build/sources/hpcc_1.5.0.orig.tar.gz
sha256=0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8

is_right() { [ -f "$1" ] && echo "$sha256  $1" | sha256sum --check --status; }
is_right "$archive" && exit 0
echo "setup: fetching HPL's source (package hpcc)"
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state"/{lists/partial,cache/archives/partial,sources.d,download} build/sources

# The machine's own entries, asked for sources instead of binaries.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -e "$file" ] || continue
    case $file in
        *.sources) sed 's/^Types:.*/Types: deb-src/' "$file" >"$state/sources.d/$(basename "$file")" ;;
        *.list) sed -n 's/^deb \(.*\)/deb-src \1/p' "$file" >"$state/sources.d/$(basename "$file")" ;;
    esac
done
options=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$state/sources.d"
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >"$state/log" 2>&1 || cat "$state/log" >&2
(cd "$state/download" &&
    apt-get "${options[@]}" source --download-only --only-source --tar-only hpcc) >>"$state/log" 2>&1 ||
    { cat "$state/log" >&2; echo "setup: the source package hpcc could not be fetched" >&2; exit 4; }
is_right "$state"/download/hpcc_1.5.0.orig.tar.gz || {
    echo "setup: the fetched hpcc archive has not the checksum $sha256; not used" >&2
    exit 4
}
mv "$state"/download/hpcc_1.5.0.orig.tar.gz "$archive"
