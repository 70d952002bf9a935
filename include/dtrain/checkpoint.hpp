// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dtrain {

/// An array of a checkpoint.
struct CheckpointTensor {
    std::vector<std::int64_t> shape;
    /// Row after row, as many as the shape says.
    std::variant<std::vector<float>, std::vector<std::int64_t>> values;
    friend bool operator==(const CheckpointTensor&, const CheckpointTensor&) = default;
};

/// Everything that training needs to go on bit for bit where it stopped, between two steps.
struct Checkpoint {
    std::int64_t epoch = 0;  ///< epochs that are complete
    std::int64_t step = 0;   ///< optimizer steps that are complete, since the very first
    std::uint64_t seed = 0;
    /// What the state belongs to (model, data, global batch, ...): field -> value. Compared when resuming.
    std::map<std::string, std::string> job;
    std::map<std::string, CheckpointTensor> parameters;
    std::map<std::string, CheckpointTensor> optimizer;  ///< moments and the like, by name
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes one HDF5 file: groups /parameters, /optimizer (one dataset per name) and /job (text
/// attributes), epoch, step, seed and a checksum over all contents as attributes of the root. The same
/// checkpoint makes the same bytes. Complete or absent: written beside `path`, synced, renamed. Folders are
/// made as needed. Call it on one rank.
/// @throws Error naming the path when it cannot be written (nothing is left behind then).
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// @throws UsageError naming the path when it cannot be read, is no checkpoint, is cut off or damaged.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// A folder in which a job keeps its last checkpoints: "epoch-000012.h5" files, and "latest", which names the
/// one that was completed last.
class CheckpointFolder {
  public:
    explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::filesystem::path file(std::int64_t epoch) const;

    /// The checkpoint that "latest" names; without such a file the one of the highest epoch; or nothing.
    std::optional<std::filesystem::path> newest() const;

    /// Saves as file(checkpoint.epoch), then deletes all but the last `keep` of the epochs up to this one.
    /// @throws Error as save_checkpoint.
    std::filesystem::path save(const Checkpoint& checkpoint, int keep) const;

  private:
    std::filesystem::path folder_;
};

}  // namespace dtrain
