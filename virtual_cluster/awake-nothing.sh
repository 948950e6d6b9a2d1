#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The prolog that each node runs before a job, where cores are not kept awake.
