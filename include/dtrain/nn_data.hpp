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

namespace dtrain::detail {
class BatchesOfEpoch;
}

namespace dtrain::nn {

/// Which samples a step has, and in what order.
struct DataLoaderOptions {
    std::int64_t batch_size = 32;  ///< samples of a step, over all ranks together
    bool shuffle = false;          ///< a new order in each epoch, from `order_seed`
    bool drop_last = false;        ///< leaves out an epoch's last batch if it is smaller
    Shape sample = {};             ///< shape of one sample: {8, 8}; {}: one row of values
    std::uint64_t order_seed = 1;  ///< of the order of samples with `shuffle`
};

/// One rank's part of a step.
struct Batch {
    std::int64_t id = 0;  ///< index of the step in its epoch
    Tensor x;             ///< float32 [rows, sample...]
    Tensor y;             ///< labels, int64 [rows]
};

/// Distributes the samples of a data source over the ranks, batch by batch:
///
///     for (const auto& [batch_id, x_data, y_data] : train_loader(epoch)) ...
///
/// Every batch is a part of the epoch's order, which is the same for any number of ranks, and each rank has
/// an equal, contiguous part of the batch. The last batch may be smaller. If a batch is not divisible by the
/// number of ranks, some of its samples are repeated, so that all ranks have equally many rows and do equally
/// many steps.
///
/// While an epoch of a source with lookahead (DataSource::lookahead()), such as one that stays on disk, is
/// iterated, a thread gathers its next batches. A source of open_data() may be used elsewhere meanwhile, your
/// own source only if it is thread-safe.
class DataLoader {
  public:
    /// The source must outlive the loader and be the same on all ranks.
    /// @throws UsageError if there is no sample, the batch is smaller than the number of ranks, `sample` has
    /// another number of values than the source's samples, or drop_last leaves no batch
    explicit DataLoader(const DataSource& source, const DataLoaderOptions& options = {},
                        const Communicator& communicator = {});
    DataLoader(const DataSource&& temporary, const DataLoaderOptions& options = {},
               const Communicator& communicator = {}) = delete;

    /// Batches per epoch, the same on all ranks.
    std::int64_t batches() const { return batches_; }

    class Epoch;

    /// The batches of an epoch. Iterating them throws UsageError if a sample cannot be read.
    Epoch operator()(std::int64_t epoch) const;

  private:
    std::vector<std::int64_t> samples(const std::vector<std::int64_t>& order, std::int64_t number) const;

    const DataSource* source_;
    DataLoaderOptions options_;
    int rank_;
    int ranks_;
    std::int64_t batches_;
};

/// The batches of an epoch, created one by one.
class DataLoader::Epoch {
  public:
    /// Points to a batch.
    class Iterator {
      public:
        /// @param number index of the batch in the epoch
        Iterator(const Epoch& epoch, std::int64_t number) : epoch_(&epoch), number_(number) {}

        /// This rank's part of the batch. @throws UsageError if a sample cannot be read
        Batch operator*() const { return epoch_->batch(number_); }
        /// Goes to the next batch.
        Iterator& operator++() {
            ++number_;
            return *this;
        }
        /// Whether both point to the same batch.
        bool operator==(const Iterator& other) const { return number_ == other.number_; }

      private:
        const Epoch* epoch_;
        std::int64_t number_;
    };

    /// @param order all samples of the epoch
    Epoch(const DataLoader& loader, std::vector<std::int64_t> order);

    /// The first batch.
    Iterator begin() const { return {*this, 0}; }
    /// Behind the last batch.
    Iterator end() const { return {*this, loader_.batches()}; }

  private:
    Batch batch(std::int64_t number) const;

    DataLoader loader_;
    std::shared_ptr<const std::vector<std::int64_t>> order_;
    std::shared_ptr<detail::BatchesOfEpoch> ahead_;  ///< for sources with lookahead
};

}  // namespace dtrain::nn
