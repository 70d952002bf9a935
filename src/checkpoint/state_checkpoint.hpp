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
#include "storage/stored_checkpoint.hpp"

namespace dtrain::checkpoint {

/// @param job what this job would write as CheckpointHeader::job
/// @param file named in messages
/// @param reader word for the reader in messages: "job", "program"
/// @throws UsageError with the first difference and both values, if the checkpoint belongs to another job
void check_job(const std::map<std::string, std::string>& theirs,
               const std::map<std::string, std::string>& job, const std::string& file,
               const std::string& reader = "job");

/// @param job what this job would write as CheckpointHeader::job
/// @throws UsageError naming the checkpoint and the first difference with both values, if it belongs to
/// another job, lacks an array, has a different one, or has an extra one although the arrays are complete
void check_fits(const storage::StoredCheckpoint& checkpoint, const std::map<std::string, std::string>& job,
                const StoredArrays& arrays, const std::string& reader = "job");

/// Lists of float64 by name, which a checkpoint stores in "/optimizer/" besides the arrays.
using Numbers = std::map<std::string, std::vector<double>>;

/// The description of such a list: "/optimizer/NAME", float64.
storage::TensorInfo stored_info(const std::string& name, const std::vector<double>& values);

/// A checkpoint with copies of all values.
Checkpoint copy_of(const StoredArrays& arrays, const CheckpointHeader& header, const Numbers& numbers);

/// Reads all tensors of a matching checkpoint directly into the arrays.
/// @return the numbers that are not in the arrays
/// @throws UsageError naming the file that is damaged; the content of the arrays is then undefined
Numbers read_into(const StoredArrays& arrays, const storage::StoredCheckpoint& checkpoint);

/// Why a checkpoint is unreadable: the message of the Error that `action` throws.
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
    Numbers numbers;  ///< from read_into()
};

/// Sets the arrays from the first of the checkpoints that can be read; `warn` is called for each one before
/// it. If a checkpoint turns out to be damaged after part of it was read, the next readable one replaces
/// every value.
/// @throws UsageError if none can be read (the content of the arrays is then undefined), or the first
/// readable one does not match
Restored restore_first(const std::vector<std::filesystem::path>& files,
                       const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                       const std::function<void(const std::string&)>& warn,
                       const std::string& reader = "job");

}  // namespace dtrain::checkpoint
