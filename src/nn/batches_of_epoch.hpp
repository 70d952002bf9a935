// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <dtrain/dataset.hpp>

#include "data/prefetcher.hpp"

namespace dtrain::detail {

/// The batches of one epoch of a source with lookahead, gathered in advance by a thread.
class BatchesOfEpoch {
  public:
    using SamplesOf = std::function<std::vector<std::int64_t>(std::int64_t number)>;

    /// @param source must outlive this object @param rows of the largest batch
    BatchesOfEpoch(const DataSource& source, std::int64_t rows, std::int64_t batches, SamplesOf samples_of)
        : samples_of_(std::move(samples_of)),
          prefetcher_({std::shared_ptr<const void>(), &source},
                      data::BatchOrder{.rows = rows,
                                       .batches = batches,
                                       .start_epoch = [](std::int64_t) {},
                                       .batch =
                                           [this](std::int64_t number) {
                                               samples_ = samples_of_(number);
                                               return LocalBatch{.samples = samples_};
                                           }}) {}

    /// Any batch; the next one is available soonest. Valid until the next call. @throws exceptions of
    /// gathering
    const data::PreparedBatch& batch(std::int64_t number) {
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
    std::vector<std::int64_t> samples_;  ///< used only by the thread
    std::int64_t number_ = 0;
    const data::PreparedBatch* batch_ = nullptr;  ///< the batch with number_
    data::Prefetcher prefetcher_;  ///< its thread ends before the members that it uses are destroyed
};

}  // namespace dtrain::detail
