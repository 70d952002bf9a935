// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <dtrain/dataset.hpp>

#include "io/prefetcher.hpp"

namespace dtrain::eager {

/// The batches of one epoch of a source that wants to be told of them, gathered ahead by a thread.
class BatchesOfEpoch {
  public:
    using SamplesOf = std::function<std::vector<std::int64_t>(std::int64_t number)>;

    /// @param source outlives it @param rows of the largest batch
    BatchesOfEpoch(const DataSource& source, std::int64_t rows, std::int64_t batches, SamplesOf samples_of)
        : samples_of_(std::move(samples_of)),
          prefetcher_({std::shared_ptr<const void>(), &source},
                      io::BatchOrder{.rows = rows,
                                     .batches = batches,
                                     .start_epoch = [](std::int64_t) {},
                                     .batch =
                                         [this](std::int64_t number) {
                                             samples_ = samples_of_(number);
                                             return LocalBatch{.samples = samples_};
                                         }}) {}

    /// Any of them; the next one is there soonest. Good until the next call.
    /// @throws what gathering threw
    const io::PreparedBatch& batch(std::int64_t number) {
        if (batch_ != nullptr && number == number_) return *batch_;
        if (batch_ == nullptr || number != number_ + 1) prefetcher_.start(0, number);
        batch_ = nullptr;
        const auto& next = prefetcher_.next();
        number_ = number;
        batch_ = &next;
        return next;
    }

  private:
    SamplesOf samples_of_;
    std::vector<std::int64_t> samples_;  ///< of the thread alone
    std::int64_t number_ = 0;
    const io::PreparedBatch* batch_ = nullptr;  ///< that of number_
    io::Prefetcher prefetcher_;                 ///< its thread ends before what it uses goes
};

}  // namespace dtrain::eager
