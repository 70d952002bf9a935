// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// In place of NCCL and of the GPU, linked in by --wrap: memory of "GPUs" is memory of the host, operations
// are MPI messages between the ranks of the test and sums in rank order, and go on only while they are asked
// for. It refuses what NCCL does not promise to take, and does what a script says. Where ranks call different
// operations, or one with other arguments, these do not end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace nccl_stand_in {

struct Script {
    int gpus = 8;
    int version = 22809;  ///< of NCCL
    int driver = 99000;   ///< the CUDA that it supports: whatever this was built with
    int join_polls = 0;   ///< for so many looks the communicator is still being made
    int issue_polls = 0;  ///< and for so many an operation is still being handed over
    int fail_at = 0;      ///< number of the operation of NCCL, from 1, that fails on this rank
    int fail_code = 0;    ///< by an asynchronous error of this ncclResult_t; 0: by an error of the GPU
    /// Number of an operation that fails on this rank while it is captured, when a part of it is captured
    /// already.
    int fail_capture_at = 0;
    int refuse_at = 0;  ///< number of the operation that is an invalid argument
    bool join_fails = false;
    bool abort_hangs = false;
    bool memory_is_gone = false;
};
Script& script();

/// What was done since reset().
struct Seen {
    std::vector<std::string> calls;  ///< of memory, communicators and their ends
    std::vector<std::string> names;  ///< of communicators
    std::vector<int> roots;          ///< MPI ranks that made the ids of the last communicator
    std::vector<std::string> wrong;  ///< uses that NCCL forbids
    int groups = 0;                  ///< that had more than one call
    int operations = 0;
    int blocking = -1;
};
Seen& seen();
void reset();

/// Once, on all ranks, after MPI began; without MPI not at all.
void connect();

/// Puts something into a stream (null: CUDA's default one) that is done when `advance` says so.
void put(void* stream, std::function<bool()> advance);

}  // namespace nccl_stand_in
