// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace dtrain::launch {

/// A command of dtrain-launch other than starting a job, named by its first argument. --help, shell
/// completion and the manual page are generated from this.
struct CommandRow {
    std::string_view name;
    std::string_view arguments;
    std::string_view help;
    std::vector<std::string_view> options;  ///< for completion
    bool takes_files = false;               ///< likewise
};

std::span<const CommandRow> command_table();

/// The row of a command, which must be in the table.
const CommandRow& command_row(std::string_view name);

/// One-sentence description of dtrain-launch, for --help and the manual page.
inline constexpr std::string_view program_description =
    "Starts a distributed training job: plans ranks, GPUs, cores and ports, starts them through mpirun, "
    "watches, and reports.";
inline constexpr std::string_view program_examples =
    R"(dtrain-launch --gpus 0,1 train.py --batch_size=64   one process for each of GPU 0 and 1
dtrain-launch --nproc_per_node 2 train.py           two processes; on a machine without GPUs two CPU processes
dtrain-launch --server_num 1 --worker_num 4 train.py  a parameter-server job on this machine
dtrain-launch --nproc_per_node 2 job.toml           train a job file without any code
dtrain-launch --dry-run --nproc_per_node 2 train.py show the plan and the command, start nothing
dtrain-launch submit --nodes 2 --gpus 4 train.py    give the job to the queue of Slurm or PBS
)";

}  // namespace dtrain::launch
