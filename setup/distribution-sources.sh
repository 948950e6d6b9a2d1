#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# distribution-sources.sh FOLDER PACKAGE...: fetches the original archives of the distribution's
# source packages into FOLDER. Uses the machine's own package sources with an apt state of its own;
# changes nothing else.
set -euo pipefail
folder=$1
shift
mkdir -p "$folder"
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state"/{lists/partial,cache/archives/partial,sources.d}

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
(cd "$folder" &&
    apt-get "${options[@]}" source --download-only --only-source --tar-only "$@") >>"$state/log" 2>&1 ||
    { cat "$state/log" >&2; echo "the source packages $* could not be fetched" >&2; exit 4; }
