// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>
#include <dtrain/var.hpp>

/// Metrics over many batches. Their counts are kept in the State, so tests and training that share a State
/// also share the counts; reset_metrics() resets them.
namespace dtrain {

/// Options of layers::auc().
struct AucOptions {
    Var weight = {};           ///< variable [batch] of real numbers: 0 excludes padded rows; "" counts all
    std::int64_t bins = 4096;  ///< of the histograms, over scores from 0 to 1
    std::string name = {};     ///< stem of variable names; "" picks auc_0, auc_1, ...
};

/// Outputs of layers::auc().
struct Auc {
    Var value = {};      ///< float32 [1]: over all batches since the last reset
    Var positives = {};  ///< float64 [bins], in the State: histogram of the scores of positive rows
    Var negatives = {};  ///< the same for negative rows
};

namespace layers {

/// Area under the receiver operating characteristic: the probability that a positive row has a higher score
/// than a negative one, where a pair in the same bin counts one half. Scores are probabilities of any shape
/// with one element per row; there is one label per row, an integer (positive above 0) or a real number
/// (positive above 0.5). The executor throws if a score is outside 0..1 or NaN.
Auc auc(Program& program, const Var& scores, const Var& label, const AucOptions& options = {});

}  // namespace layers

/// The area under the curve by the trapezoidal rule, from histograms over scores with bin 0 the lowest; 0.5
/// if either histogram is empty. For histograms that have been summed over ranks.
double area_under_curve(std::span<const double> positives, std::span<const double> negatives);

/// Resets all counts of metrics to zero.
void reset_metrics(const State& state);

}  // namespace dtrain
