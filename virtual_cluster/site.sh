# SPDX-License-Identifier: Apache-2.0
# site.sh NAME ROOT OWN COMMAND …: becomes process 1 of a host of a site, which sees the machine
# (site_setup.py). ROOT is the cluster's folder; OWN are folders in which it has an empty file system.
. "${0%/*}/gate.sh"
name=$1 root=$2 own=$3
shift 3
hostname "$name"
for file in hosts passwd group; do mount --bind "$root/etc/$file" "/etc/$file"; done
mount -t proc proc /proc
# A /sys of this network: libraries look there for the interfaces.
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
for folder in $own; do mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$folder"; done
sh -e "$root/bin/mounts"
ready
exec "$@"
