/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "halo.h"

/* Plan how one kind of halo is filled across a direction that has a halo. The message's buffers are
 * left to the caller. Local. */
void halo_plan_make(struct halo_plan *plan, const struct lattice *lattice, enum halo_kind kind,
                    int direction);
