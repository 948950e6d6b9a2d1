/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* SHM_STAT, SEM_STAT */
#include "leftovers.h"

#include <errno.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

/* The caller must declare this union (semctl(2)). */
union semaphore_argument {
    int value;
    struct semid_ds *set;
    struct seminfo *info;
};

static int is_dead(pid_t pid) { return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH; }

/* 1 if every process known to have used the set is dead, and one is known. */
static int is_orphan(int id, unsigned long semaphores) {
    int dead = 0;
    for (unsigned long i = 0; i < semaphores; i++) {
        pid_t pid = (pid_t)semctl(id, (int)i, GETPID);
        if (pid <= 0)
            continue;
        if (!is_dead(pid))
            return 0;
        dead = 1;
    }
    return dead;
}

void leftovers_remove(time_t since) {
    struct shmid_ds segment;
    struct shm_info segments;
    struct semid_ds set;
    struct seminfo sets;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&segments);
    for (int i = 0; i <= last; i++) {
        int id = shmctl(i, SHM_STAT, &segment);
        if (id >= 0 && segment.shm_perm.uid == geteuid() && segment.shm_nattch == 0 &&
            segment.shm_ctime >= since && is_dead(segment.shm_cpid))
            shmctl(id, IPC_RMID, NULL);
    }
    last = semctl(0, 0, SEM_INFO, (union semaphore_argument){.info = &sets});
    for (int i = 0; i <= last; i++) {
        int id = semctl(i, 0, SEM_STAT, (union semaphore_argument){.set = &set});
        if (id >= 0 && set.sem_perm.uid == geteuid() && set.sem_ctime >= since &&
            is_orphan(id, set.sem_nsems))
            semctl(id, 0, IPC_RMID);
    }
}
