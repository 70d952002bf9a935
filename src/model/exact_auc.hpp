// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::model {

/// A model's score of a sample, and the sample's label.
struct ScoredSample {
    float score = 0;
    float label = 0;  ///< 1 or 0
};

/// Appends the samples of a batch whose weight is not 0.
void add_scored(std::vector<ScoredSample>& to, std::span<const float> scores, std::span<const float> labels,
                std::span<const float> weights);

/// Area under the receiver operating characteristic: the probability that a sample of label 1 has a higher
/// score than one of label 0, where equal scores count one half (Hanley and McNeil, Radiology 143, 1982).
/// Computed exactly: the result does not depend on the order of the samples. 0.5 without samples of both
/// labels; NaN if a score is NaN.
double exact_auc(std::vector<ScoredSample> samples);

/// The same over the samples of all ranks, on all of them; computed on the first rank. Collective.
double exact_auc(const std::vector<ScoredSample>& samples, const Communicator& communicator);

}  // namespace dtrain::model
