// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/nn_tensor.hpp>

namespace dtrain::eager {
class BatchesOfEpoch;
}

namespace dtrain::nn {

struct DataLoaderOptions {
    std::int64_t batch_size = 32;  ///< samples of a step, of all ranks together
    bool shuffle = false;          ///< another order in each epoch, from `order_seed`
    bool drop_last = false;        ///< leaves out an epoch's last batch when it is smaller
    Shape sample = {};             ///< of one sample: {8, 8}; {}: one row of values
    std::uint64_t order_seed = 1;
};

/// What a rank has of a step.
struct Batch {
    std::int64_t id = 0;  ///< of the step in its epoch
    Tensor x;             ///< float32 [rows, sample...]
    Tensor y;             ///< labels, int64 [rows]
};

/// Deals the samples of a data source to the ranks, batch by batch:
///
///     for (const auto& [batch_id, x_data, y_data] : train_loader(epoch)) ...
///
/// Every batch is a part of the epoch's order, which is the same for any number of ranks, and each rank has
/// an equal, contiguous part of it. The last batch may be smaller. Where the ranks do not divide a batch,
/// samples of it are repeated, so that all ranks have equally many rows and do equally many steps.
///
/// While an epoch of a source that wants to be told of samples ahead (DataSource::lookahead()) is gone
/// through, as of those that stay on disk, a thread gathers its next batches. A source of open_data() may be
/// used elsewhere meanwhile, one of your own if it is made for several threads.
class DataLoader {
  public:
    /// The source outlives the loader and is the same on all ranks.
    /// @throws UsageError when there is no sample, the batch is smaller than the number of ranks, `sample`
    /// has other values than the source, or drop_last leaves no batch
    explicit DataLoader(const DataSource& source, const DataLoaderOptions& options = {},
                        const Communicator& communicator = {});
    DataLoader(const DataSource&& temporary, const DataLoaderOptions& options = {},
               const Communicator& communicator = {}) = delete;

    /// Of an epoch, the same on all ranks.
    std::int64_t batches() const { return batches_; }

    class Epoch;

    /// @throws UsageError when a sample cannot be read, while it is gone through
    Epoch operator()(std::int64_t epoch) const;

  private:
    std::vector<std::int64_t> samples(const std::vector<std::int64_t>& order, std::int64_t number) const;

    const DataSource* source_;
    DataLoaderOptions options_;
    int rank_;
    int ranks_;
    std::int64_t batches_;
};

/// The batches of an epoch, made one by one.
class DataLoader::Epoch {
  public:
    class Iterator {
      public:
        Iterator(const Epoch& epoch, std::int64_t number) : epoch_(&epoch), number_(number) {}

        Batch operator*() const { return epoch_->batch(number_); }
        Iterator& operator++() {
            ++number_;
            return *this;
        }
        bool operator==(const Iterator& other) const { return number_ == other.number_; }

      private:
        const Epoch* epoch_;
        std::int64_t number_;
    };

    Epoch(const DataLoader& loader, std::vector<std::int64_t> order);

    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, loader_.batches()}; }

  private:
    Batch batch(std::int64_t number) const;

    DataLoader loader_;
    std::shared_ptr<const std::vector<std::int64_t>> order_;
    std::shared_ptr<eager::BatchesOfEpoch> ahead_;  ///< of sources that want to be told
};

}  // namespace dtrain::nn
