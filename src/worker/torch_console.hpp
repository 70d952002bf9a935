// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

#include "protocol/torch_job.hpp"
#include "worker/supervise.hpp"

namespace dtrain::worker {

/// Which of a rank's streams are on the console, and how, as torchrun's --redirects, --tee and
/// --local-ranks-filter say. Pure.
std::vector<ShownLog> shown_torch_logs(const cluster::TorchJob& job, const cluster::Identity& identity,
                                       const std::string& host, const std::filesystem::path& out,
                                       const std::filesystem::path& err);

}  // namespace dtrain::worker
