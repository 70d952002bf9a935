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

#include "checkpoint/stored_arrays.hpp"
#include "io/stored_checkpoint.hpp"

namespace dtrain::checkpoint {

/// @param job what this job would write as CheckpointHeader::job
/// @param file named in messages
/// @param reader what messages call who reads it: "job", "program"
/// @throws UsageError with the first difference and both values, when a checkpoint is of another job.
void check_job(const std::map<std::string, std::string>& theirs,
               const std::map<std::string, std::string>& job, const std::string& file,
               const std::string& reader = "job");

/// @param job what this job would write as CheckpointHeader::job
/// @throws UsageError naming the checkpoint and the first difference with both values, when it is of another
/// job, or some array is missing or another one in it, or it has one more than a whole has.
void check_fits(const io::StoredCheckpoint& checkpoint, const std::map<std::string, std::string>& job,
                const StoredArrays& arrays, const std::string& reader = "job");

/// Lists of float64 by name: what a checkpoint has in "/optimizer/" beside the arrays.
using Numbers = std::map<std::string, std::vector<double>>;

/// Such a list: "/optimizer/NAME", float64.
io::TensorInfo stored_info(const std::string& name, const std::vector<double>& values);

/// A checkpoint with a copy of everything.
Checkpoint copy_of(const StoredArrays& arrays, const CheckpointHeader& header, const Numbers& numbers);

/// Reads all tensors of a checkpoint that fits, straight into the arrays.
/// @return what these do not have
/// @throws UsageError naming the file that is damaged; the arrays then hold anything.
Numbers read_into(const StoredArrays& arrays, const io::StoredCheckpoint& checkpoint);

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

/// Sets the arrays to the first of the checkpoints that can be read; `warn` is told of those before. One that
/// turns out damaged when a part of it is read already leaves nothing behind: the next one that can be read
/// replaces every value.
/// @throws UsageError when none can be read (the arrays then hold anything), or the first that can does not
/// fit.
Restored restore_first(const std::vector<std::filesystem::path>& files,
                       const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                       const std::function<void(const std::string&)>& warn,
                       const std::string& reader = "job");

}  // namespace dtrain::checkpoint
