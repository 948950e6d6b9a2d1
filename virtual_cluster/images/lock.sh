#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lock.sh [NAME...]: resolves packages.txt anew for the images of these names (all) and writes NAME.lock,
# with `make image-locks`. Needs apt-get of any release, the keys of the Debian archive, and a mirror: that
# of this machine's apt, or ASSAY_DEBIAN_MIRROR. apt resolves for an empty system, with a state of its own.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
declare -A suites=([debian-12]=bookworm [debian-13]=trixie [debian-14]=sid)
apt_mirror='import images; print(images.apt_mirror())'
mirror=${ASSAY_DEBIAN_MIRROR:-$(PYTHONPATH=$here/../..:$here/.. python3 -P -c "$apt_mirror")}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
[ $# -gt 0 ] || set -- "${!suites[@]}"
for name; do
    suite=${suites[$name]} S=$state/$name
    mkdir -p "$S"/{lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,parts}
    : >"$S/status"
    printf '%s [signed-by=%s] %s '"$suite"' main\n' deb "$keys" "$mirror" deb-src "$keys" "$mirror" >"$S/etc/sources.list"
    options=(-q -o Dir::Etc="$S/etc" -o Dir::Etc::Parts="$S/parts" -o Dir::State="$S" -o Dir::State::Lists="$S/lists"
        -o Dir::State::status="$S/status" -o Dir::Cache="$S/cache" -o APT::Install-Recommends=false
        -o Debug::NoLocking=1 -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
        -o APT::Sandbox::User="" -o APT::Architecture=amd64)
    apt-get "${options[@]}" update >&2
    packages=()
    while read -r package; do
        if [ "${package%\?}" = "$package" ] || [ -n "$(apt-cache "${options[@]}" madison "${package%\?}")" ]; then
            packages+=("${package%\?}")
        fi
    done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/packages.txt")
    {
        echo "# Image $name: Debian $suite, amd64, $(date --utc +%Y%m%dT%H%M%SZ). Path below the mirror, bytes, SHA-256."
        {
            apt-get "${options[@]}" install -y --print-uris '?essential' "${packages[@]}" |
                sed -n "s,^'$mirror/\([^']*\)' .*,\1,p" | sed 's/%2b/+/g; s/%3a/:/g; s/%7e/~/g'
        } | sort >"$S/paths"
        for list in "$S"/lists/*_Packages*; do /usr/lib/apt/apt-helper cat-file "$list"; done |
            awk 'NR == FNR { wanted[$1]; next }
                /^Filename:/ { path = $2 } /^Size:/ { size = $2 } /^SHA256:/ { sum = $2 }
                /^$/ { if (path in wanted) print path, size, sum }' "$S/paths" -
        apt-get "${options[@]}" source --print-uris --only-source hpcc |
            sed -n "s,^'$mirror/\([^']*\.orig\.tar\.gz\)' [^ ]* \([0-9]*\) SHA256:\(.*\),\1 \2 \3,p"
    } >"$S/lock"
    [ "$(grep -c '\.deb ' "$S/lock")" = "$(wc -l <"$S/paths")" ] || {
        echo "lock.sh: $name: the mirror's index does not have all packages; nothing was written" >&2
        exit 4
    }
    mv "$S/lock" "$here/$name.lock"
    echo "$name: $(wc -l <"$S/paths") packages, $(awk '{ sum += $2 } END { printf "%.0f", sum / 1e6 }' "$here/$name.lock") MB"
done
