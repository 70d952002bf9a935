// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/batch_sums.hpp"

#include <numeric>
#include <variant>

namespace dtrain::model {
namespace {

double total(std::vector<double> sums, const Communicator& communicator) {
    communicator.allreduce_sum(std::span<double>(sums));  // exact: each is zero on all ranks but one
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

BatchSums::BatchSums(std::int64_t steps, const train::RankParts& parts)
    : parts_(parts),
      loss_(static_cast<std::size_t>(steps * parts.ranks), 0),
      correct_(static_cast<std::size_t>(steps * parts.ranks), 0) {}

void BatchSums::add(Executor& executor, const LossProgram& program) {
    const auto own = static_cast<std::size_t>(parts_.own);
    const auto index = batches_ / own * static_cast<std::size_t>(parts_.ranks) +
                       static_cast<std::size_t>(parts_.first) + batches_ % own;
    ++batches_;
    loss_[index] = executor.fetch_scalar(program.loss_sum);
    own_loss_ += loss_[index];
    if (!program.correct.empty()) correct_[index] = executor.fetch_scalar(program.correct);
    if (program.scores.empty()) return;
    add_scored(scored_, executor.fetch(program.scores), executor.feed<float>(program.scored_label),
               executor.feed<float>(fed_weight));
}

Metrics BatchSums::means(const std::vector<Metric>& metrics, std::int64_t samples,
                         const Communicator& communicator) const {
    const auto count = static_cast<double>(samples);
    Metrics result{.loss = total(loss_, communicator) / count, .samples = samples};
    for (const auto& metric : metrics)
        result.metrics[name_of(metric)] = std::holds_alternative<Accuracy>(metric)
                                              ? total(correct_, communicator) / count
                                              : exact_auc(scored_, communicator);
    return result;
}

}  // namespace dtrain::model
