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

/// An array in a checkpoint.
struct CheckpointTensor {
    /// The values, by their type.
    using Values =
        std::variant<std::vector<float>, std::vector<std::int64_t>, std::vector<double>,
                     std::vector<std::int32_t>, std::vector<float16>, std::vector<bfloat16>,
                     std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::int16_t>,
                     std::vector<std::uint16_t>, std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

    std::vector<std::int64_t> shape = {};  ///< extents, outermost first
    Values values = {};                    ///< in C order, as many values as the shape has elements
    friend bool operator==(const CheckpointTensor&, const CheckpointTensor&) = default;
};

/// The contents of a checkpoint besides its tensors.
struct CheckpointHeader {
    std::int64_t epoch = 0;       ///< completed epochs
    std::int64_t step = 0;        ///< completed optimizer steps since the start of training
    std::int64_t epoch_step = 0;  ///< completed steps of the epoch in progress; 0: between two epochs
    std::uint64_t seed = 0;       ///< of the initial parameters and of the order of samples
    /// Identifies the job of the state (model, data, global batch, ...): field -> value. Compared when
    /// resuming.
    std::map<std::string, std::string> job = {};
    /// Sums of each rank since the epoch began, by name; empty between two epochs.
    std::map<std::string, std::vector<double>> sums = {};
    friend bool operator==(const CheckpointHeader&, const CheckpointHeader&) = default;
};

/// Everything needed to resume training bit for bit, between two steps.
struct Checkpoint : CheckpointHeader {
    std::map<std::string, CheckpointTensor> parameters = {};  ///< by name
    /// Other persistent tensors by name: optimizer state such as moments, and counts of metrics.
    std::map<std::string, CheckpointTensor> optimizer = {};
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// How a checkpoint is stored.
enum class CheckpointFormat {
    directory,  ///< shards, and an index that presents them as one file
    file        ///< one file
};

/// Writes one HDF5 file (format 3): groups /parameters, /optimizer (one dataset per name) and /job (text
/// attributes); epoch, step and seed are attributes of the root. Before HDF5's own bytes is an index with
/// checksums of everything. The same checkpoint always gives the same bytes, the ones that all ranks of a job
/// write together. Atomic: written beside `path`, synced, renamed. Folders are
/// created as needed. Call it on one rank.
/// @throws Error naming the path if it cannot be written (nothing is left behind then).
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Writes a directory (format 2): `shards` HDF5 files of about equal size (1: no tensor is split) and
/// index.h5, in which the same groups present them as one file (virtual datasets; HDF5 1.10 or
/// later). index.h5 has checksums of everything, including its own bytes. The same checkpoint and number of
/// shards always give the same bytes. Atomic: written beside `path` as ".tmp-NAME", synced, renamed. Call it
/// on one rank; dtrain-worker runs jobs whose ranks each write a shard.
/// @throws Error naming the path if it cannot be written (a folder ".tmp-NAME" may be left behind then).
void save_checkpoint_directory(const std::filesystem::path& path, const Checkpoint& checkpoint,
                               int shards = 1);

/// Reads either format, or the single file that dtrain 0.1 wrote on one rank (format 1), into newly allocated
/// memory. Not collective.
/// @throws UsageError naming the file that cannot be read, is not a checkpoint, is truncated or damaged. Any
/// changed byte is detected, except for unused bytes of a format 1 file.
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// A folder in which a job keeps its latest checkpoints: "epoch-000012" directories or "epoch-000012.h5"
/// files, with the suffix "-step-000008" for those written within the following epoch; "latest", which names
/// the checkpoint that was completed last; and ".dtrain-run", if the job has an identifier: a line with it,
/// followed by one line for each checkpoint that was published under it.
class CheckpointFolder {
  public:
    /// @param run an identifier of the job that writes here: one line, the same after every restart and used
    /// by no other job; empty: none
    explicit CheckpointFolder(std::filesystem::path folder, std::string run = {})
        : folder_(std::move(folder)), run_(std::move(run)) {}

    /// The path of the checkpoint with this header, whether or not it exists.
    std::filesystem::path path(const CheckpointHeader& header, CheckpointFormat format) const;

    /// All checkpoints, oldest first; none if there is no such folder.
    /// @throws Error naming the folder if it cannot be read
    std::vector<std::filesystem::path> all() const;

    /// The checkpoint that "latest" names, if it exists.
    std::optional<std::filesystem::path> latest() const;

    /// latest(); without it the checkpoint with the highest epoch and step; or nothing.
    /// @throws Error as all()
    std::optional<std::filesystem::path> newest() const;

    /// newest() followed by all others, newest first: the order in which to try them if some are damaged.
    /// @throws Error as all()
    std::vector<std::filesystem::path> candidates() const;

    /// Those of candidates() that were published under this identifier; none without an identifier, or once
    /// another job has published here.
    /// @throws Error as all(), or naming ".dtrain-run"
    std::vector<std::filesystem::path> own() const;

    /// Saves as path(checkpoint, format), then calls publish().
    /// @throws Error as save_checkpoint.
    std::filesystem::path save(const Checkpoint& checkpoint, int keep,
                               CheckpointFormat format = CheckpointFormat::file) const;

    /// Returns the names of the sibling checkpoints that a checkpoint cannot be read without.
    using Needs = std::function<std::vector<std::string>(const std::filesystem::path& checkpoint)>;

    /// Records a completed checkpoint in ".dtrain-run" and "latest", then deletes all checkpoints except the
    /// last `keep` up to it and those that the kept ones need, and the remains of incomplete checkpoints.
    /// @throws Error naming the path.
    void publish(const std::filesystem::path& path, int keep, const Needs& needs = {}) const;

  private:
    /// The names in ".dtrain-run", if they belong to this identifier.
    std::set<std::string> published() const;
    void write_run(const std::string& name) const;

    std::filesystem::path folder_;
    std::string run_;
};

}  // namespace dtrain
