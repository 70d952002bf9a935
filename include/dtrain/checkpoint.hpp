// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <dtrain/half.hpp>

namespace dtrain {

/// An array of a checkpoint.
struct CheckpointTensor {
    using Values = std::variant<std::vector<float>, std::vector<std::int64_t>, std::vector<double>,
                                std::vector<std::int32_t>, std::vector<float16>, std::vector<bfloat16>,
                                std::vector<std::uint8_t>>;

    std::vector<std::int64_t> shape = {};
    Values values = {};  ///< row after row, as many as the shape says
    friend bool operator==(const CheckpointTensor&, const CheckpointTensor&) = default;
};

/// What a checkpoint says besides its tensors.
struct CheckpointHeader {
    std::int64_t epoch = 0;       ///< epochs that are complete
    std::int64_t step = 0;        ///< optimizer steps that are complete, since the very first
    std::int64_t epoch_step = 0;  ///< steps that are complete of the epoch after these; 0: between two epochs
    std::uint64_t seed = 0;
    /// What the state belongs to (model, data, global batch, ...): field -> value. Compared when resuming.
    std::map<std::string, std::string> job = {};
    /// What each rank has summed up since the epoch began, by name; empty between two epochs.
    std::map<std::string, std::vector<double>> sums = {};
    friend bool operator==(const CheckpointHeader&, const CheckpointHeader&) = default;
};

/// Everything that training needs to go on bit for bit where it stopped, between two steps.
struct Checkpoint : CheckpointHeader {
    std::map<std::string, CheckpointTensor> parameters = {};
    /// What else outlives a step, by name: moments and the like, and what metrics count.
    std::map<std::string, CheckpointTensor> optimizer = {};
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

enum class CheckpointFormat {
    directory,  ///< shards, and an index that shows them as one file
    file        ///< one file
};

/// Writes one HDF5 file (format 1): groups /parameters, /optimizer (one dataset per name) and /job (text
/// attributes), epoch, step, seed and a checksum over all contents as attributes of the root. The same
/// checkpoint makes the same bytes. Complete or absent: written beside `path`, synced, renamed. Folders are
/// made as needed. Call it on one rank.
/// @throws Error naming the path when it cannot be written (nothing is left behind then).
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Writes a directory (format 2): `shards` HDF5 files with about equally many bytes (1: no tensor is split)
/// and index.h5, in which the same groups as in format 1 show them as one file (virtual datasets; HDF5 1.10
/// or later). index.h5 has checksums of everything, its own bytes included. The same checkpoint and number of
/// shards make the same bytes. Complete or absent: written beside `path` as ".tmp-NAME", synced, renamed.
/// Call it on one rank; a job whose ranks each write a shard is what dtrain-worker runs.
/// @throws Error naming the path when it cannot be written (a folder ".tmp-NAME" may stay behind then).
void save_checkpoint_directory(const std::filesystem::path& path, const Checkpoint& checkpoint,
                               int shards = 1);

/// Reads either format, or the one file that all ranks of a job have written together (format 3), into memory
/// of its own. Not collective.
/// @throws UsageError naming the file that cannot be read, is no checkpoint, is cut off or damaged. Any
/// change of any byte is noticed, but for bytes of a format 1 file that mean nothing.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// A folder in which a job keeps its last checkpoints: "epoch-000012" directories or "epoch-000012.h5" files,
/// with "-step-000008" behind the number of those that were written within the epoch after it; "latest",
/// which names the one that was completed last; and ".dtrain-run", where the job has a mark: a line with it,
/// and one for each of those that were written under it.
class CheckpointFolder {
  public:
    /// @param run a mark of the job that writes here, the same whenever it is started again, and no other
    /// job's: one line; empty: it has none
    explicit CheckpointFolder(std::filesystem::path folder, std::string run = {})
        : folder_(std::move(folder)), run_(std::move(run)) {}

    /// Where the checkpoint of that moment lies, or would.
    std::filesystem::path path(const CheckpointHeader& header, CheckpointFormat format) const;

    /// All checkpoints, from the earliest moment on.
    std::vector<std::filesystem::path> all() const;

    /// The checkpoint that "latest" names, when it is there.
    std::optional<std::filesystem::path> latest() const;

    /// latest(); without it the one of the latest moment; or nothing.
    std::optional<std::filesystem::path> newest() const;

    /// newest(), and then all others from the latest moment on: what to try when one is damaged.
    std::vector<std::filesystem::path> candidates() const;

    /// Of candidates() those that were published under this mark; none without one, or once another job has
    /// published here.
    std::vector<std::filesystem::path> own() const;

    /// Saves as path(checkpoint, format), then publish()es it.
    /// @throws Error as save_checkpoint.
    std::filesystem::path save(const Checkpoint& checkpoint, int keep,
                               CheckpointFormat format = CheckpointFormat::file) const;

    /// Names of the checkpoints beside one that it cannot be read without.
    using Needs = std::function<std::vector<std::string>(const std::filesystem::path& checkpoint)>;

    /// Lets ".dtrain-run" and "latest" name a checkpoint that is complete, then deletes all but the last
    /// `keep` up to it and those that others need which stay, and what was left of checkpoints that were not
    /// completed.
    /// @throws Error naming the path.
    void publish(const std::filesystem::path& path, int keep, const Needs& needs = {}) const;

  private:
    /// The names in ".dtrain-run", when they are of this mark.
    std::set<std::string> published() const;
    void write_run(const std::string& name) const;

    std::filesystem::path folder_;
    std::string run_;
};

}  // namespace dtrain
