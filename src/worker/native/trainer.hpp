// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <dtrain/communicator.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/sampler.hpp>

#include "worker/native/job_file.hpp"
#include "worker/native/model.hpp"

namespace dtrain::native {

/// Means over the real samples of all ranks.
struct Metrics {
    double loss = 0;
    double accuracy = 0;
    std::int64_t samples = 0;
};

/// Trains a job's model on this rank's share of the data. Every function is collective.
class Trainer {
  public:
    /// @param threads compute threads of this rank
    /// @throws UsageError when training and test data do not fit together.
    Trainer(const Job& job, Dataset train, std::optional<Dataset> test, Communicator communicator,
            int threads);

    /// Goes on where the checkpoint stopped: rank 0 reads it, the others get it from there.
    /// @throws UsageError on all ranks when it cannot be read or is of another job.
    void resume(const std::filesystem::path& file);

    /// @throws Error when the loss is no finite number any more, or the ranks' parameters differ.
    Metrics train_epoch();

    /// Nothing without test data.
    std::optional<Metrics> test();

    /// Rank 0 writes a checkpoint. @throws Error on all ranks when it cannot.
    std::filesystem::path save(const CheckpointSettings& settings);

    std::int64_t epochs_done() const { return epoch_; }
    std::int64_t steps_done() const { return step_; }
    std::int64_t steps_per_epoch() const { return sampler_.steps(); }
    std::int64_t local_batch() const { return sampler_.local_batch(); }
    std::int64_t global_batch() const { return global_batch_; }
    const Model& model() const { return model_; }
    const Dataset& train_data() const { return train_data_; }
    const std::optional<Dataset>& test_data() const { return test_data_; }
    std::uint64_t checksum() const { return parameters_checksum(state_); }

  private:
    Metrics run(Executor& executor, const Dataset& data, DistributedSampler& sampler);

    Communicator communicator_;
    Dataset train_data_;
    std::optional<Dataset> test_data_;
    std::uint64_t seed_;
    std::int64_t global_batch_;
    DistributedSampler sampler_;
    Model model_;
    State state_;
    Executor trainer_;
    Executor tester_;
    std::map<std::string, std::string> job_;  ///< what a checkpoint of this job belongs to
    std::int64_t epoch_ = 0;
    std::int64_t step_ = 0;
};

}  // namespace dtrain::native
