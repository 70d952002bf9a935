// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program in C that calls what dtrain/c_api.h has, on any number of ranks. Oracle: sums and blocks worked out from the
// rank numbers. Ends with status 1 and the line of the first check that fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtrain/c_api.h>

#include "check.h"

enum { max_ranks = 16, length = 1000 };

static int rank = -1;
static int size = 0;

// Of the ranks 0 ... size - 1.
static int sum_of_ranks(void) {
    return size * (size - 1) / 2;
}

static void wait_for(dtrain_request* request) {
    int is_complete = 0;
    while (!is_complete) OK(dtrain_test(request, &is_complete));
    CHECK(*request == 0);
    OK(dtrain_wait(request));
}

static void reductions(void) {
    float floats[length];
    for (int i = 0; i < length; ++i) floats[i] = (float)(i + rank);
    OK(dtrain_all_reduce(DTRAIN_WORLD, floats, length, DTRAIN_FLOAT32, DTRAIN_SUM, NULL));
    for (int i = 0; i < length; ++i) CHECK(floats[i] == (float)(size * i + sum_of_ranks()));

    double doubles[2] = {rank, -rank};
    OK(dtrain_all_reduce(DTRAIN_WORLD, doubles, 2, DTRAIN_FLOAT64, DTRAIN_AVERAGE, NULL));
    CHECK(doubles[0] == sum_of_ranks() / (double)size && doubles[1] == -doubles[0]);

    int64_t longs[2] = {rank, -rank};
    dtrain_request request = 1;
    OK(dtrain_all_reduce(DTRAIN_WORLD, longs, 2, DTRAIN_INT64, DTRAIN_MAX, &request));
    wait_for(&request);
    CHECK(longs[0] == size - 1 && longs[1] == 0);

    int32_t ints[1] = {rank + 5};
    OK(dtrain_all_reduce(DTRAIN_WORLD, ints, 1, DTRAIN_INT32, DTRAIN_MIN, NULL));
    CHECK(ints[0] == 5);

    uint8_t bytes[1] = {(uint8_t)(rank + 1)};
    OK(dtrain_reduce(DTRAIN_WORLD, bytes, 1, DTRAIN_UINT8, DTRAIN_SUM, size - 1, NULL));
    CHECK(rank != size - 1 || bytes[0] == sum_of_ranks() + size);

    // Of each type of integers, in memory that is long enough for all: 3, and 2 on the last rank.
    const int integers[] = {DTRAIN_INT8,  DTRAIN_INT16,  DTRAIN_INT32,  DTRAIN_INT64,
                            DTRAIN_UINT8, DTRAIN_UINT16, DTRAIN_UINT32, DTRAIN_UINT64};
    int product = 1;
    for (int i = 0; i < size; ++i) product *= i == size - 1 ? 2 : 3;
    const int expected[][2] = {{DTRAIN_PRODUCT, product},
                               {DTRAIN_BIT_AND, 2},
                               {DTRAIN_BIT_OR, size > 1 ? 3 : 2},
                               {DTRAIN_BIT_XOR, (size - 1) % 2 == 1 ? 1 : 2}};
    for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 4; ++k) {
            uint8_t value[8] = {rank == size - 1 ? 2 : 3, 0, 0, 0, 0, 0, 0, 0};  // little-endian
            OK(dtrain_all_reduce(DTRAIN_WORLD, value, 1, integers[i], expected[k][0], NULL));
            CHECK(value[0] == (uint8_t)expected[k][1]);
        }
    CHECK(dtrain_all_reduce(DTRAIN_WORLD, floats, 1, DTRAIN_FLOAT32, DTRAIN_BIT_OR, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(strstr(dtrain_last_error()->message, "bits are combined of integers only") != NULL);

    // 1.5 as bfloat16 and as float16
    const uint16_t halves[2] = {0x3FC0, 0x3E00};
    const int types[2] = {DTRAIN_BFLOAT16, DTRAIN_FLOAT16};
    for (int i = 0; i < 2; ++i) {
        uint16_t half = halves[i];
        OK(dtrain_all_reduce(DTRAIN_WORLD, &half, 1, types[i], DTRAIN_AVERAGE, NULL));
        CHECK(half == halves[i]);
    }

    float blocks[max_ranks * 2];
    float block[2] = {-1, -1};
    for (int i = 0; i < 2 * size; ++i) blocks[i] = (float)(i * (rank + 1));
    OK(dtrain_reduce_scatter(DTRAIN_WORLD, blocks, block, 2, DTRAIN_FLOAT32, DTRAIN_SUM, NULL));
    for (int i = 0; i < 2; ++i) CHECK(block[i] == (float)((2 * rank + i) * (sum_of_ranks() + size)));
}

static void movements(void) {
    int root = size - 1;
    int values[3] = {rank, rank, rank};
    OK(dtrain_barrier(DTRAIN_WORLD, NULL));
    OK(dtrain_broadcast(DTRAIN_WORLD, values, sizeof values, root, NULL));
    CHECK(values[0] == root && values[2] == root);

    int mine = 7 * rank;
    int all[max_ranks];
    OK(dtrain_all_gather(DTRAIN_WORLD, &mine, sizeof mine, all, NULL));
    for (int i = 0; i < size; ++i) CHECK(all[i] == 7 * i);

    int out[max_ranks];
    for (int i = 0; i < size; ++i) out[i] = 100 * rank + i;
    dtrain_request request = 0;
    OK(dtrain_all_to_all(DTRAIN_WORLD, out, all, sizeof *out, &request));
    OK(dtrain_wait(&request));
    for (int i = 0; i < size; ++i) CHECK(all[i] == 100 * i + rank);

    memset(all, 0, sizeof all);
    OK(dtrain_gather(DTRAIN_WORLD, &mine, sizeof mine, all, NULL, root, NULL));
    for (int i = 0; i < size; ++i) CHECK(all[i] == (rank == root ? 7 * i : 0));
    mine = -1;
    OK(dtrain_scatter(DTRAIN_WORLD, out, NULL, &mine, sizeof mine, root, NULL));
    CHECK(mine == 100 * root + rank);
}

// Rank r has r letters of its own: "", "b", "cc".
static void uneven_movements(void) {
    char mine[max_ranks];
    char expected[max_ranks * max_ranks] = "";
    char all[max_ranks * max_ranks];
    size_t lengths[max_ranks] = {0};
    size_t offset = 0;
    for (int i = 0; i < size; ++i) {
        lengths[i] = (size_t)i;
        memset(expected + offset, 'a' + i, lengths[i]);
        offset += lengths[i];
    }
    memset(mine, 'a' + rank, sizeof mine);

    memset(all, '?', sizeof all);
    OK(dtrain_all_gather_uneven(DTRAIN_WORLD, mine, lengths, all, NULL));
    CHECK(memcmp(all, expected, offset) == 0 && all[offset] == '?');

    memset(all, '?', sizeof all);
    dtrain_request request = 0;
    OK(dtrain_all_gather_uneven(DTRAIN_WORLD, mine, lengths, all, &request));
    wait_for(&request);
    CHECK(memcmp(all, expected, offset) == 0);

    memset(all, '?', sizeof all);
    OK(dtrain_gather(DTRAIN_WORLD, mine, (size_t)rank, all, lengths, 0, NULL));
    CHECK(rank != 0 || memcmp(all, expected, offset) == 0);

    memset(mine, '?', sizeof mine);
    OK(dtrain_scatter(DTRAIN_WORLD, all, lengths, mine, (size_t)rank, 0, NULL));
    for (int i = 0; i < rank; ++i) CHECK(mine[i] == 'a' + rank);
    CHECK(mine[rank] == '?');

    // Rank a sends a letters to each rank.
    size_t sent[max_ranks];
    for (int i = 0; i < size; ++i) sent[i] = (size_t)rank;
    memset(all, 'a' + rank, sizeof all);
    char arrived[max_ranks * max_ranks];
    OK(dtrain_all_to_all_uneven(DTRAIN_WORLD, all, sent, arrived, lengths, NULL));
    CHECK(memcmp(arrived, expected, offset) == 0);
}

static void messages(void) {
    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    int given = rank * 3;
    int taken = -1;
    dtrain_request sending = 0;
    OK(dtrain_send(DTRAIN_WORLD, &given, sizeof given, next, 11, &sending));
    OK(dtrain_receive(DTRAIN_WORLD, &taken, sizeof taken, previous, 11, NULL));
    OK(dtrain_wait(&sending));
    CHECK(taken == previous * 3);
    CHECK(dtrain_send(DTRAIN_WORLD, &given, sizeof given, size, 0, NULL) == DTRAIN_ERROR);
    CHECK(dtrain_send(DTRAIN_WORLD, &given, sizeof given, 0, 40000, NULL) == DTRAIN_ERROR);
}

static void messages_of_any(void) {
    int given = rank * 3;
    dtrain_request sending = 0;
    OK(dtrain_send(DTRAIN_WORLD, &given, sizeof given, 0, 12, &sending));
    for (int i = 0; rank == 0 && i < size; ++i) {
        int taken = -1;
        int from = -1;
        dtrain_request receiving = 0;
        OK(dtrain_receive_any(DTRAIN_WORLD, &taken, sizeof taken, 12, &from, i % 2 == 0 ? NULL : &receiving));
        if (receiving != 0) wait_for(&receiving);
        CHECK(from >= 0 && from < size && taken == from * 3);
    }
    OK(dtrain_wait(&sending));
    int from = -1;
    CHECK(dtrain_receive_any(DTRAIN_WORLD, &given, sizeof given, 40000, &from, NULL) == DTRAIN_ERROR);
}

static void waits_with_a_limit(void) {
    int is_complete = -1;
    dtrain_request none = 0;
    OK(dtrain_wait_for(&none, 0, &is_complete));
    CHECK(is_complete == 1);
    dtrain_request unknown = 123456;
    CHECK(dtrain_wait_for(&unknown, 1, &is_complete) == DTRAIN_USAGE_ERROR);
    if (size == 1) return;
    int go = 0;
    if (rank == 0) {  // the others begin when they are told to
        dtrain_request request = 0;
        OK(dtrain_barrier(DTRAIN_WORLD, &request));
        OK(dtrain_wait_for(&request, 0.01, &is_complete));
        CHECK(is_complete == 0 && request != 0);
        for (int i = 1; i < size; ++i) OK(dtrain_send(DTRAIN_WORLD, &go, sizeof go, i, 13, NULL));
        OK(dtrain_wait_for(&request, 60, &is_complete));
        CHECK(is_complete == 1 && request == 0);
    } else {
        OK(dtrain_receive(DTRAIN_WORLD, &go, sizeof go, 0, 13, NULL));
        OK(dtrain_barrier(DTRAIN_WORLD, NULL));
    }
}

static void subsets(void) {
    const int ends[2] = {size - 1, 0};
    dtrain_comm made = 77;
    if (rank == 0 || rank == size - 1) {
        OK(dtrain_comm_of(DTRAIN_WORLD, ends, size > 1 ? 2 : 1, 5, &made));
        dtrain_comm_info info;
        OK(dtrain_comm_get_info(made, &info));
        CHECK(info.rank == (rank == size - 1 ? 0 : 1) && info.size == (size > 1 ? 2 : 1));
        int64_t sum = rank;
        OK(dtrain_all_reduce(made, &sum, 1, DTRAIN_INT64, DTRAIN_SUM, NULL));
        CHECK(sum == size - 1);
        OK(dtrain_comm_free(made));
    } else {
        CHECK(dtrain_comm_of(DTRAIN_WORLD, ends, 2, 5, &made) == DTRAIN_USAGE_ERROR);
        CHECK(strstr(dtrain_last_error()->message, "only listed ranks do") != NULL);
    }
    const int wrong[2] = {rank, size};
    CHECK(dtrain_comm_of(DTRAIN_WORLD, wrong, 2, 5, &made) == DTRAIN_USAGE_ERROR);
}

static void groups(void) {
    dtrain_comm_info info;
    OK(dtrain_comm_get_info(DTRAIN_WORLD, &info));
    CHECK(info.size == size && info.rank == rank && info.nodes == 1 && info.node == 0);
    CHECK(info.node_rank == rank && info.node_size == size);
    char line[200];
    OK(dtrain_comm_describe(DTRAIN_WORLD, line, sizeof line));
    CHECK(strstr(line, "rank") != NULL);
    char cut[3];
    OK(dtrain_comm_describe(DTRAIN_WORLD, cut, sizeof cut));
    CHECK(strlen(cut) == 2);

    dtrain_comm same_parity = DTRAIN_NO_COMM;
    OK(dtrain_comm_split(DTRAIN_WORLD, rank % 2, -rank, &same_parity));
    OK(dtrain_comm_get_info(same_parity, &info));
    int others = (size - rank % 2 + 1) / 2;
    CHECK(info.size == others && info.rank == others - 1 - rank / 2);
    int64_t sum = rank;
    OK(dtrain_all_reduce(same_parity, &sum, 1, DTRAIN_INT64, DTRAIN_SUM, NULL));
    CHECK(sum == others * (others - 1) + others * (rank % 2));

    // The last rank, then the first, in this order.
    const int members[2] = {size - 1, 0};
    dtrain_comm ends = 77;
    OK(dtrain_comm_group(DTRAIN_WORLD, members, size > 1 ? 2 : 1, &ends));
    if (rank == 0 || rank == size - 1) {
        OK(dtrain_comm_get_info(ends, &info));
        CHECK(info.rank == (rank == size - 1 ? 0 : 1) && info.size == (size > 1 ? 2 : 1));
        OK(dtrain_comm_free(ends));
        CHECK(dtrain_comm_get_info(ends, &info) == DTRAIN_USAGE_ERROR);
        CHECK(strstr(dtrain_last_error()->message, "was freed") != NULL);
    } else {
        CHECK(ends == DTRAIN_NO_COMM);
    }
    const int wrong[2] = {0, size};
    CHECK(dtrain_comm_group(DTRAIN_WORLD, wrong, 2, &ends) == DTRAIN_USAGE_ERROR);
    const int twice[2] = {0, 0};
    CHECK(dtrain_comm_group(DTRAIN_WORLD, twice, 2, &ends) == DTRAIN_USAGE_ERROR);

    dtrain_comm node = DTRAIN_NO_COMM;
    OK(dtrain_comm_node_local(DTRAIN_WORLD, &node));
    OK(dtrain_comm_get_info(node, &info));
    CHECK(info.size == size);
    OK(dtrain_comm_free(same_parity));
    OK(dtrain_comm_free(node));
    CHECK(dtrain_comm_free(DTRAIN_WORLD) == DTRAIN_USAGE_ERROR);
}

static void shared_memory(void) {
    dtrain_comm own = DTRAIN_NO_COMM;
    OK(dtrain_comm_split(DTRAIN_WORLD, 0, rank, &own));
    dtrain_buffer buffer = 0;
    void* data = NULL;
    OK(dtrain_allocate(own, length * sizeof(float), &buffer, &data));
    float* values = data;
    CHECK((uintptr_t)data % 4096 == 0 && values[0] == 0 && values[length - 1] == 0);
    for (int i = 0; i < length; ++i) values[i] = (float)rank;
    OK(dtrain_all_reduce(own, values, length, DTRAIN_FLOAT32, DTRAIN_SUM, NULL));
    for (int i = 0; i < length; ++i) CHECK(values[i] == (float)sum_of_ranks());

    values[0] = (float)(rank + 100);
    OK(dtrain_barrier(own, NULL));
    void* of_last = NULL;
    size_t bytes = 0;
    OK(dtrain_buffer_of_rank(buffer, size - 1, &of_last, &bytes));
    CHECK(bytes == length * sizeof(float) && *(float*)of_last == (float)(size + 99));
    OK(dtrain_buffer_of_rank(buffer, size, &of_last, &bytes));
    CHECK(of_last == NULL && bytes == 0);

    // The memory outlives its communicator; ranks give it up when they like.
    OK(dtrain_comm_free(own));
    values[1] = 3;
    CHECK(values[1] == 3);
    if (rank == 0) {
        OK(dtrain_buffer_free(buffer));
        CHECK(dtrain_buffer_free(buffer) == DTRAIN_USAGE_ERROR);
    }
}

static void refusals(void) {
    int value = 0;
    int is_complete = -1;
    CHECK(dtrain_init() == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_barrier(1000, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_broadcast(DTRAIN_WORLD, &value, sizeof value, size, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_broadcast(DTRAIN_WORLD, &value, sizeof value, -1, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_all_reduce(DTRAIN_WORLD, &value, 1, 77, DTRAIN_SUM, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_all_reduce(DTRAIN_WORLD, &value, 1, DTRAIN_INT32, 9, NULL) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_last_error()->status == DTRAIN_USAGE_ERROR && dtrain_last_error()->rank == -1);
    dtrain_request none = 0;
    OK(dtrain_wait(&none));
    OK(dtrain_test(&none, &is_complete));
    CHECK(is_complete == 1);
    dtrain_request unknown = 123456;
    CHECK(dtrain_wait(&unknown) == DTRAIN_USAGE_ERROR);
    if (size == 1) return;

    // Under way until the others take part as well.
    dtrain_request request = 0;
    OK(dtrain_barrier(DTRAIN_WORLD, &request));
    CHECK(request != 0);
    CHECK(dtrain_finish() == DTRAIN_USAGE_ERROR);
    OK(dtrain_wait(&request));

    // Ranks that do not call the same are told so, all of them.
    int64_t wide[2] = {0, 0};
    CHECK(dtrain_all_reduce(DTRAIN_WORLD, wide, rank == 0 ? 1 : 2, DTRAIN_INT64, DTRAIN_SUM, NULL) == DTRAIN_ERROR);
    CHECK(strstr(dtrain_last_error()->message, "allreduce") != NULL);
}

int main(void) {
    dtrain_comm_info info;
    CHECK(dtrain_comm_get_info(DTRAIN_WORLD, &info) == DTRAIN_USAGE_ERROR);
    CHECK(dtrain_finish() == DTRAIN_USAGE_ERROR && !dtrain_is_initialised());
    OK(dtrain_init());
    CHECK(dtrain_is_initialised());
    OK(dtrain_comm_get_info(DTRAIN_WORLD, &info));
    rank = info.rank;
    size = info.size;
    CHECK(size <= max_ranks);
    reductions();
    movements();
    uneven_movements();
    messages();
    messages_of_any();
    waits_with_a_limit();
    groups();
    subsets();
    shared_memory();
    refusals();
    OK(dtrain_finish());
    CHECK(!dtrain_is_initialised());
    return 0;
}
