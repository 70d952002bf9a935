// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <sys/types.h>
#include <vector>

#include "base/process_tree.hpp"
#include "trace/torch_record.hpp"

namespace dtrain::worker {

/// What the threads that answer have used of the processors, and how long they waited for one. It is not the
/// programs' own. (While other code holds Python's lock, a thread that has been asked asks for it 200 times a
/// second.)
/// @param operations folder of DTRAIN_OPERATION_LOG; "": there is none
ThreadTimes times_of_torch_records(const std::filesystem::path& operations);

/// Asks processes that use torch what it has recorded. Of those that cannot be asked, do not answer in time
/// or answer something else, there is nothing.
/// @param operations folder of DTRAIN_OPERATION_LOG, which has their sockets; "": there is none
/// @param limit for all answers together
std::map<pid_t, trace::TorchRecord> torch_records(const std::filesystem::path& operations,
                                                  const std::vector<pid_t>& processes,
                                                  std::chrono::milliseconds limit);

}  // namespace dtrain::worker
