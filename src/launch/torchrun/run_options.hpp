// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "protocol/rank_list.hpp"
#include "protocol/stream_choice.hpp"

namespace dtrain::launch::torchrun {

/// A dtrain-run command line. The table of options (option_table.cpp) explains each field.
struct RunOptions {
    enum class Backend { fixed, c10d, etcd };
    /// How the number of processes on a node is told.
    enum class Processes { number, one_per_gpu, one_per_cpu, one_per_gpu_or_cpu };

    int min_nodes = 1;
    int max_nodes = 1;
    Processes processes = Processes::number;
    int nproc_per_node = 1;  ///< if Processes::number
    Backend backend = Backend::fixed;
    std::string endpoint;
    std::string id = "none";
    std::optional<std::chrono::milliseconds> join_timeout;
    bool standalone = false;
    int max_restarts = 0;
    std::string role = "default";
    bool module = false;
    bool no_python = false;
    bool run_path = false;
    std::string log_dir;
    cluster::StreamChoice redirects;
    cluster::StreamChoice tee;
    std::string line_prefix = "[${role_name}${local_rank}]:";
    cluster::RankList shown_local_ranks = cluster::RankList::all();
    int node_rank = 0;
    std::string master_addr = "127.0.0.1";
    std::optional<int> master_port;
    std::optional<std::string> local_addr;
    std::chrono::milliseconds shutdown_timeout{30'000};
    bool virtual_local_rank = false;

    std::string script;
    std::vector<std::string> script_arguments;
};

struct ParsedRun {
    RunOptions options;
    std::optional<std::string> text;   ///< --help and the like: print this and exit with 0
    std::vector<std::string> notices;  ///< logged as warnings
};

/// Variables PET_* preset options, as with torchrun. Pure.
/// @throws UsageError with one line
ParsedRun parse_run_options(const std::vector<std::string>& arguments, const Environment& environment);

/// A completion script for "bash" or "zsh".
std::string run_completion_script(const std::string& shell);

/// The manual page, in roff.
std::string run_manual_page();

}  // namespace dtrain::launch::torchrun
