/* SPDX-License-Identifier: Apache-2.0 */
/* The device that a description of MPICH or one of its kin names. */
#include "assay/library_parts.h"
#include "proof.h"

#include <string.h>

static int names(const char *raw, const char *expected) {
    char text[64] = "";
    int found = library_mpich_device(raw, text, sizeof text);
    return *expected ? found && strcmp(text, expected) == 0 : !found;
}

int main(void) {
    proof_true(
        "ch4 with its network module",
        names("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH configure:\t--prefix=/usr "
              "--with-device=ch4:ucx --with-pm=hydra\n",
              "ch4:ucx"));
    proof_true("the module of nemesis, as configure was given it",
               names("MPICH Device:     ch3:nemesis\nMPICH configure: '--prefix=/x' "
                     "'--with-device=ch3:nemesis:tcp' '--disable-static'\n",
                     "ch3:nemesis:tcp"));
    proof_true(
        "nemesis with its default module, which is not named",
        names("MPICH Device:\tch3:nemesis\nMPICH configure:\t--with-device=ch3\n", "ch3:nemesis"));
    proof_true(
        "sockets alone",
        names("MPICH Device:\tch3:sock\nMPICH configure:\t--with-device=ch3:sock\n", "ch3:sock"));
    proof_true(
        "another device in configure's words is not believed",
        names("MPICH Device:\tch4:ofi\nMPICH configure:\t--with-device=ch4:ucx\n", "ch4:ofi"));
    proof_true("MVAPICH",
               names("MVAPICH2 Version:\t2.3.7\nMVAPICH2 Device:\tch3:mrail\n", "ch3:mrail"));
    proof_true("Intel MPI names none", names("Intel(R) MPI Library 2021.10 for Linux* OS\n", ""));
    proof_true("an empty device is none", names("MPICH Device:\nMPICH configure:\n", ""));
    return proof_status();
}
