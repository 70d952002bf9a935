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

/// The state as a checkpoint, in newly allocated memory: save_checkpoint("model.h5", to_checkpoint(state)).
/// Includes what executors have computed on a GPU. Not collective.
/// @param header epoch, step, seed and what else the checkpoint is to say
/// @throws what Executor::fetch() throws about earlier steps on a GPU
Checkpoint to_checkpoint(const State& state, const CheckpointHeader& header = {});

/// Sets the state to the values of a checkpoint: restore(state, load_checkpoint("model.h5")). The checkpoint
/// may have more tensors than the state: that of a test program needs only some of them. Not collective: call
/// it on all ranks, or on one before broadcast(). If ranks share the state's memory (State::is_shared), call
/// it on one rank of each node and let the others wait (Communicator::barrier).
/// @throws UsageError naming the first tensor that is missing or has another type or shape; the state is then
/// unchanged
void restore(const State& state, const Checkpoint& checkpoint);

/// How checkpoints are written: the [checkpoint] section of a job file (docs/checkpoints.md).
struct CheckpointOptions {
    int keep = 2;                                           ///< number of checkpoints to keep
    CheckpointFormat format = CheckpointFormat::directory;  ///< a directory or one file
    /// Write in a background thread on each writing rank while training continues; needs a copy of what that
    /// rank writes. False: save() returns when the checkpoint is on disk.
    bool async = true;
    /// For a directory: maximum number of files for the tensors. None: one per rank, but no file below 16
    /// MiB.
    std::optional<int> shards = {};
    /// One file (format file) that all ranks write together through MPI-IO while training waits. A program
    /// that was started alone, without MPI, writes the file itself.
    bool collective = false;
    std::map<std::string, std::string> hints = {};  ///< MPI-IO hints with collective: "striping_factor" ...
    friend bool operator==(const CheckpointOptions&, const CheckpointOptions&) = default;
};

/// What a checkpoint contains besides the tensors of a State or buffers.
struct StateCheckpoint : CheckpointHeader {
    /// Lists by name, stored as tensors in Checkpoint::optimizer: the same on all ranks, with names that the
    /// State (or the buffers) do not use.
    std::map<std::string, std::vector<double>> numbers = {};
};

/// Memory of any library that is part of a checkpoint, with the same values on all ranks: for example the
/// parameters passed to GradientAveraging and the state of their optimizer. The memory is owned by the caller
/// and must not move.
struct CheckpointBuffer {
    std::string name = {};  ///< '/' creates groups in the file: "layer_1/weight"
    /// Extents, outermost first, of all elements in C order; empty: one dimension with all elements.
    std::vector<std::int64_t> shape = {};
    ElementSpan values = {};   ///< the memory itself
    bool is_parameter = true;  ///< false: stored in Checkpoint::optimizer
};

/// Keeps the latest checkpoints of a State, or of buffers of any library, in a folder; CheckpointFolder
/// defines the names. With format directory each rank writes its part of the tensors, without MPI. Every
/// function except last() is collective over the communicator's ranks. For hand-written training loops; Model
/// has the callback Checkpoints.
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
    /// @throws UsageError on all ranks if options contradict each other or are out of range, or if
    /// `collective` is set and the communicator does not have all ranks of MPI_COMM_WORLD
    StateCheckpoints(const std::filesystem::path& folder, const State& state,
                     const Communicator& communicator, const CheckpointOptions& options = {});
    /// Checkpoints of buffers, in any order: save() writes their contents, load_newest() sets them.
    /// @throws UsageError as above, and if there are no buffers, a name is invalid or used twice, a buffer's
    /// size does not match its shape, or the ranks have different buffers: the first difference is named.
    StateCheckpoints(const std::filesystem::path& folder, const std::vector<CheckpointBuffer>& buffers,
                     const Communicator& communicator, const CheckpointOptions& options = {});
    StateCheckpoints(StateCheckpoints&&) noexcept;
    StateCheckpoints& operator=(StateCheckpoints&&) noexcept;
    /// Waits for this rank's writer thread. An unfinished checkpoint stays invisible; the previous one
    /// remains valid.
    ~StateCheckpoints();

    /// Starts a checkpoint of the current state, named by epoch and epoch_step (a checkpoint of the same name
    /// is replaced), after finish() of the previous one. Returns once the data to be written has been copied,
    /// so that the next step may change the state.
    /// @param numbers see StateCheckpoint
    /// @throws Error on all ranks if this checkpoint, or the previous one, cannot be written
    void save(const CheckpointHeader& header, const std::map<std::string, std::vector<double>>& numbers = {});

    /// Makes the checkpoint in progress visible once all ranks have written their parts. It does not wait for
    /// the disk and uses only what the ranks reported at the previous call: call it between any two steps, on
    /// all ranks alike.
    /// @throws Error on all ranks if a part could not be written
    void progress();

    /// Waits until the checkpoint in progress, if there is one, is on disk under its final name.
    /// @throws Error on all ranks if it could not be written
    void finish();

    /// The checkpoint that was started last; it is complete after finish(), and often sooner.
    std::optional<std::filesystem::path> last() const;

    /// Sets the state, or the buffers, to the newest undamaged checkpoint in the folder. The first rank reads
    /// it; only its folder is used.
    /// @param job the CheckpointHeader::job that save() was given
    /// @param warn called on the first rank for each damaged checkpoint
    /// @return the checkpoint's header and numbers, on all ranks; none if there is no checkpoint, and nothing
    /// has changed
    /// @throws UsageError on all ranks if no checkpoint can be read, or if the first readable one belongs to
    /// another job or has different tensors (name, type or shape; with buffers, also additional ones): the
    /// first difference is named. The state is then unchanged.
    std::optional<StateCheckpoint> load_newest(const std::map<std::string, std::string>& job,
                                               const std::function<void(const std::string&)>& warn = {});

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
