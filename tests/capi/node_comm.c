// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program in C whose ranks it forks itself: they meet by dtrain_node_comm() without dtrain_init(), and call no MPI.
// Oracle: sums worked out from the rank numbers, the rank that is ended, and what MPI_Initialized says. Ends with status
// 1 and the line of the first check that fails.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dtrain/c_api.h>

#include "check.h"

enum { size = 3, length = 100000 };

static int rank = -1;
static dtrain_comm all = DTRAIN_NO_COMM;

static int mpi_is_initialised(void) {
    int is_initialised = 0;
    int (*ask)(int*) = NULL;
    void* const found = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    CHECK(found != NULL);
    memcpy(&ask, &found, sizeof(ask));
    ask(&is_initialised);
    return is_initialised;
}

static void exchange(void) {
    static float floats[length];
    for (int i = 0; i < length; ++i) floats[i] = (float)(i % 100 + rank);
    OK(dtrain_all_reduce(all, floats, length, DTRAIN_FLOAT32, DTRAIN_SUM, NULL));
    for (int i = 0; i < length; ++i) CHECK(floats[i] == (float)(size * (i % 100) + 3));

    int number = rank;
    int from_before = -1;
    dtrain_request sent = 0;
    OK(dtrain_send(all, &number, sizeof(number), (rank + 1) % size, 5, &sent));
    OK(dtrain_receive(all, &from_before, sizeof(from_before), (rank + size - 1) % size, 5, NULL));
    OK(dtrain_wait(&sent));
    CHECK(from_before == (rank + size - 1) % size);

    dtrain_buffer buffer = 0;
    void* own = NULL;
    OK(dtrain_allocate(all, sizeof(int), &buffer, &own));
    memcpy(own, &rank, sizeof(rank));
    OK(dtrain_barrier(all, NULL));
    void* of_last = NULL;
    size_t bytes = 0;
    OK(dtrain_buffer_of_rank(buffer, size - 1, &of_last, &bytes));
    CHECK(bytes == sizeof(int) && *(int*)of_last == size - 1);
    OK(dtrain_barrier(all, NULL));
    OK(dtrain_buffer_free(buffer));
}

static void parts(void) {
    dtrain_comm_info info;
    OK(dtrain_comm_get_info(all, &info));
    CHECK(info.rank == rank && info.size == size && info.nodes == 1 && info.node_rank == rank);
    char text[100];
    OK(dtrain_comm_describe(all, text, sizeof(text)));
    CHECK(strcmp(text, "3 ranks on 1 node: shared memory, without MPI") == 0);
    dtrain_comm part = DTRAIN_NO_COMM;
    OK(dtrain_comm_split(all, rank / 2, 0, &part));
    OK(dtrain_comm_get_info(part, &info));
    CHECK(info.size == (rank < 2 ? 2 : 1));
    OK(dtrain_comm_free(part));
    CHECK(dtrain_barrier(part, NULL) == DTRAIN_USAGE_ERROR);
}

// dtrain_init() makes a world of one beside it.
static void world(void) {
    CHECK(!dtrain_is_initialised());
    CHECK(dtrain_barrier(DTRAIN_WORLD, NULL) == DTRAIN_USAGE_ERROR);
    OK(dtrain_init());
    CHECK(dtrain_is_initialised() && dtrain_init() == DTRAIN_USAGE_ERROR);
    OK(dtrain_barrier(DTRAIN_WORLD, NULL));
    OK(dtrain_barrier(all, NULL));
    OK(dtrain_finish());
    CHECK(!dtrain_is_initialised() && dtrain_barrier(all, NULL) == DTRAIN_USAGE_ERROR);
}

static void refusals(void) {
    char name[33];
    CHECK(dtrain_node_comm_name(name, 32) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_node_comm("a b", 0, 1, 1, &all) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_node_comm("a", 1, 1, 1, &all) == DTRAIN_USAGE_ERROR);
    OK(dtrain_node_comm_name(name, sizeof(name)));
    CHECK(dtrain_node_comm(name, 0, 2, 0.05, &all) == DTRAIN_ERROR);
    CHECK(strstr(dtrain_last_error()->message, "rank 1 (has not come)") != NULL);
}

static void one_ends(const char* name) {
    OK(dtrain_node_comm(name, rank, size, 60, &all));
    if (rank == 1) raise(SIGKILL);
    CHECK(dtrain_barrier(all, NULL) == DTRAIN_TIMEOUT);
    CHECK(dtrain_last_error()->missing_count == 1 && dtrain_last_error()->missing[0].rank == 1);
    CHECK(strstr(dtrain_last_error()->missing[0].why, "has ended") != NULL);
}

int main(void) {
    char name[33];
    char other_name[33];
    OK(dtrain_node_comm_name(name, sizeof(name)));
    OK(dtrain_node_comm_name(other_name, sizeof(other_name)));
    CHECK(strcmp(name, other_name) != 0);
    for (int child = 0; child < size; ++child) {
        if (fork() != 0) continue;
        rank = child;
        OK(dtrain_node_comm(name, rank, size, 60, &all));
        exchange();
        parts();
        world();
        refusals();
        one_ends(other_name);
        CHECK(!mpi_is_initialised());
        return 0;  // without dtrain_finish()
    }
    int killed = 0;
    for (int status = 0; wait(&status) > 0;) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            ++killed;
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(killed == 1);
    return 0;
}
