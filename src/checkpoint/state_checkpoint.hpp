// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>
#include <dtrain/executor.hpp>

#include "io/stored_checkpoint.hpp"

namespace dtrain::checkpoint {

/// The tensor in checkpoints: "/parameters/fc_0.weight"; what is no parameter is "/optimizer/...".
io::TensorInfo stored_info(const StateTensor& tensor);

/// @param job what this job would write as CheckpointHeader::job
/// @param file named in messages
/// @param reader what messages call who reads it: "job", "program"
/// @throws UsageError with the first difference and both values, when a checkpoint is of another job.
void check_job(const std::map<std::string, std::string>& theirs,
               const std::map<std::string, std::string>& job, const std::string& file,
               const std::string& reader = "job");

/// @param job what this job would write as CheckpointHeader::job
/// @throws UsageError naming the checkpoint and the first difference with both values, when it is of another
/// job, or some tensor of the state is missing or another one in it.
void check_fits(const io::StoredCheckpoint& checkpoint, const std::map<std::string, std::string>& job,
                const State& state, const std::string& reader = "job");

/// Copies all tensors of a state of the same program.
void copy_into(const State& state, const State& from);

/// Lists of float64 by name: what a checkpoint has in "/optimizer/" beside a state.
using Numbers = std::map<std::string, std::vector<double>>;

/// Such a list: "/optimizer/NAME", float64.
io::TensorInfo stored_info(const std::string& name, const std::vector<double>& values);

/// A checkpoint with a copy of everything.
Checkpoint copy_of(const State& state, const CheckpointHeader& header, const Numbers& numbers);

/// Reads all tensors of a checkpoint that fits, straight into the state.
/// @return what the state has no tensors for
/// @throws UsageError naming the file that is damaged; the tensors then hold anything.
Numbers read_into(const State& state, const io::StoredCheckpoint& checkpoint);

/// What makes a checkpoint unreadable: the Error that `action` throws.
template <class Action>
std::optional<std::string> refusal_of(const Action& action) {
    try {
        action();
    } catch (const Error& refused) {
        return refused.what();
    }
    return std::nullopt;
}

struct Restored {
    std::filesystem::path file;
    CheckpointHeader header;
    Numbers numbers;  ///< as read_into() returns them
};

/// Sets the state to the first of the checkpoints that can be read; `warn` is told of those before. One that
/// turns out damaged when a part of it is read already leaves nothing behind: the next one that can be read
/// replaces every tensor.
/// @throws UsageError when none can be read (the tensors then hold anything), or the first that can does not
/// fit.
Restored restore_first(const std::vector<std::filesystem::path>& files,
                       const std::map<std::string, std::string>& job, const State& state,
                       const std::function<void(const std::string&)>& warn,
                       const std::string& reader = "job");

}  // namespace dtrain::checkpoint
