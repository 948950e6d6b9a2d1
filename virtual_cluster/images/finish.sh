#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# finish.sh, in the root of an image (images.py): does what matters of maintainer scripts: links, the cache
# of the loader. Standard input is alternatives.txt.
set -e
export PATH=/usr/sbin:/usr/bin LC_ALL=C
mkdir -p /etc/alternatives /var/lib/dpkg/alternatives
while read -r link name path; do
    case $link in "#"* | "") continue ;; esac
    [ ! -e "$path" ] || update-alternatives --quiet --install "$link" "$name" "$path" 10
done
ldconfig
