// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::model {

/// What a model says of a sample, and what it is.
struct ScoredSample {
    float score = 0;
    float label = 0;  ///< 1 or 0
};

/// Adds the samples of a batch whose weight is not 0.
void add_scored(std::vector<ScoredSample>& to, std::span<const float> scores, std::span<const float> labels,
                std::span<const float> weights);

/// Area under the receiver operating characteristic: the chance that a sample of label 1 has a higher score
/// than one of label 0, where equal scores count half (Hanley and McNeil, Radiology 143, 1982). Counted
/// exactly: the order of the samples changes no bit. 0.5 without samples of both labels; no number when a
/// score is none.
double exact_auc(std::vector<ScoredSample> samples);

/// The same of the samples of all ranks, on all of them; the first one counts. Collective.
double exact_auc(const std::vector<ScoredSample>& samples, const Communicator& communicator);

}  // namespace dtrain::model
