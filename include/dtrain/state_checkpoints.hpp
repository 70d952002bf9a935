// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/element_span.hpp>
#include <dtrain/executor.hpp>

namespace dtrain {

/// How checkpoints are written: what a job file's [checkpoint] says (docs/checkpoints.md).
struct CheckpointOptions {
    int keep = 2;  ///< how many stay
    CheckpointFormat format = CheckpointFormat::directory;
    /// By a thread of each rank that writes, while training goes on: costs that rank a copy of what it
    /// writes. False: save() returns when the checkpoint is there.
    bool async = true;
    /// Of a directory: at most so many files for the tensors. None: one per rank, but none below 16 MiB.
    std::optional<int> shards = {};
    /// One file (format file) that all ranks write together by MPI-IO, while training waits. A program that
    /// was started alone, without MPI, writes the file by itself.
    bool collective = false;
    std::map<std::string, std::string> hints = {};  ///< for MPI-IO, with collective: "striping_factor" ...
    friend bool operator==(const CheckpointOptions&, const CheckpointOptions&) = default;
};

/// What a checkpoint has besides the tensors of a State, or buffers.
struct StateCheckpoint : CheckpointHeader {
    /// Lists by name, as tensors of Checkpoint::optimizer: the same on all ranks, by names that the State (or
    /// a buffer) has not.
    std::map<std::string, std::vector<double>> numbers = {};
};

/// Memory of any library that is part of a checkpoint, with the same values on all ranks: the parameters that
/// GradientAveraging knows of, what their optimizer keeps. The caller's, which stays where it is.
struct CheckpointBuffer {
    std::string name = {};  ///< with '/' the file has groups: "layer_1/weight"
    /// Extents, outermost first, of all elements in C order; none: one dimension with all elements.
    std::vector<std::int64_t> shape = {};
    ElementSpan values = {};
    bool is_parameter = true;  ///< false: it is found in Checkpoint::optimizer
};

/// Keeps the last checkpoints of a State, or of buffers of any library, in a folder, which CheckpointFolder
/// has the names of; as a directory each rank writes its part of the tensors, without MPI. Every function but
/// last() is collective over the communicator's ranks. For training loops of one's own; Model has the
/// callback Checkpoints.
///
///     dtrain::StateCheckpoints checkpoints("checkpoints", state, communicator);
///     const auto begin = checkpoints.load_newest(job);
///     for (std::int64_t step = begin ? begin->step : 0; step < steps; ++step) {
///         ...
///         if (step % 1000 == 999)
///             checkpoints.save({.step = step + 1, .epoch_step = step + 1, .job = job});
///         checkpoints.progress();
///     }
///     checkpoints.finish();
class StateCheckpoints {
  public:
    /// @throws UsageError on all ranks when options contradict each other or are out of range, or
    /// `collective` is wanted of a communicator that has not all ranks of MPI_COMM_WORLD
    StateCheckpoints(const std::filesystem::path& folder, const State& state,
                     const Communicator& communicator, const CheckpointOptions& options = {});
    /// Of buffers, in any order: save() writes what is in them, load_newest() sets them.
    /// @throws UsageError as above, and when there is none, a name is of no use or there twice, a buffer has
    /// not the size of its shape, or the ranks have different ones: the first difference is named.
    StateCheckpoints(const std::filesystem::path& folder, const std::vector<CheckpointBuffer>& buffers,
                     const Communicator& communicator, const CheckpointOptions& options = {});
    StateCheckpoints(StateCheckpoints&&) noexcept;
    StateCheckpoints& operator=(StateCheckpoints&&) noexcept;
    /// Waits for this rank's thread. A checkpoint that was not finished stays invisible: the one before it
    /// counts.
    ~StateCheckpoints();

    /// Begins a checkpoint of this moment, which epoch and epoch_step name (one of the same name is
    /// replaced), after finish() of the one before. Returns when what is to be written is copied, so that the
    /// next step may change the state.
    /// @param numbers as StateCheckpoint has them
    /// @throws Error on all ranks when this one, or the one before, cannot be written
    void save(const CheckpointHeader& header, const std::map<std::string, std::vector<double>>& numbers = {});

    /// Makes the checkpoint in progress visible once all ranks have written their parts. It waits for no
    /// disk, and only for what the ranks said the last time: call it between any two steps, on all ranks
    /// alike.
    /// @throws Error on all ranks when a part could not be written
    void progress();

    /// Waits until the checkpoint in progress, if there is one, lies on disk under its name.
    /// @throws Error on all ranks when it does not
    void finish();

    /// The one that was begun last; it is there when finish() has returned, and often sooner.
    std::optional<std::filesystem::path> last() const;

    /// Sets the state, or the buffers, to the newest checkpoint of the folder that is not damaged. The first
    /// rank reads it, and its folder counts.
    /// @param job what save() is given as CheckpointHeader::job
    /// @param warn told, on the first rank, of those that are damaged
    /// @return what the checkpoint says, on all ranks; none: there is no checkpoint, and nothing has changed
    /// @throws UsageError on all ranks when none can be read, or the first that can is of another job or has
    /// other tensors (name, type or shape; where there are buffers, also one more than these): the first
    /// difference is named. The state is as it was then.
    std::optional<StateCheckpoint> load_newest(const std::map<std::string, std::string>& job,
                                               const std::function<void(const std::string&)>& warn = {});

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
