// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace dtrain::scheduler {

/// The GPUs of each node that a submitted job asks for.
struct GpuRequest {
    std::string text;  ///< as the user wrote it: "4", "a100:4", "0,1,2"
    std::string type;  ///< "a100"; "" if any type will do
    int count = 0;
};

/// More options for one scheduler's own command, as the user gave them.
struct FurtherOptions {
    std::string option;  ///< of dtrain-launch: "--sbatch"
    std::vector<std::string> values;
};

/// What a submitted job asks of a scheduler, whichever it is.
struct JobRequest {
    std::string program;  ///< its file name gives the job's name
    int nodes = 1;
    std::optional<GpuRequest> gpus;
    std::optional<int> cpus;            ///< per node
    std::optional<int> nproc_per_node;  ///< ranks of a node
    std::optional<std::string> time;    ///< limit, in sbatch's notation: "90", "1:30:00", "2-12"
    std::optional<std::string> partition;
    std::optional<std::string> account;
    std::optional<std::string> modules;  ///< to load first, separated by blanks
    std::vector<FurtherOptions> further;
    std::chrono::milliseconds grace{0};  ///< between asking a program to stop and killing it
    bool grace_is_given = false;         ///< by the user
    std::string launcher;                ///< path of dtrain-launch
    std::vector<std::string> arguments;  ///< of dtrain-launch, including the program
};

}  // namespace dtrain::scheduler
