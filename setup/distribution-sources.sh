#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# distribution-sources.sh FOLDER PACKAGE[/SUITE]...: fetches the original archives of the distribution's
# source packages into FOLDER, from the machine's own suite or from SUITE. Uses the machine's own package
# sources with an apt state of its own; changes nothing else.
set -euo pipefail
folder=$1
shift
packages=("$@")
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

# The entries of the machine's own suite once more for another; then each package needs its suite said.
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
suites=$(printf '%s\n' "$@" | sed -n 's,.*/,,p' | sort -u)
[ -z "$suites" ] || mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sed "s,^[^/]*\$,&/$own,")
for suite in $suites; do
    for file in "$state"/sources.d/*; do
        case $file in
            *.sources) awk -v RS= -v ORS='\n\n' -v own="$own" -v suite="$suite" \
                'match($0, "Suites:[^\n]*[ \t]" own "([ \t\n]|$)") { sub(/Suites:[^\n]*/, "Suites: " suite); print }' \
                "$file" >"$state/sources.d/$suite-$(basename "$file")" ;;
            *.list) sed -n "s/ $own / $suite /p" "$file" >"$state/sources.d/$suite-$(basename "$file")" ;;
        esac
    done
done
options=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$state/sources.d"
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >"$state/log" 2>&1 || cat "$state/log" >&2
(cd "$folder" &&
    apt-get "${options[@]}" source --download-only --only-source --tar-only "${packages[@]}") >>"$state/log" 2>&1 ||
    { cat "$state/log" >&2; exit 4; }
