// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>

/// Metrics over many batches. What they count lives in the State, so tests and training that share one go on
/// with the same counts; reset_metrics() begins anew.
namespace dtrain {

struct AucOptions {
    std::string weight = {};  ///< variable [batch] of real numbers: 0 leaves padded rows out; "" counts all
    std::int64_t bins = 4096;
    std::string name = {};  ///< stem of names; "" picks auc_0, auc_1, ...
};

struct Auc {
    std::string value = {};      ///< float32 [1]: of all batches since the beginning
    std::string positives = {};  ///< float64 [bins], in the State: clicks by their scores
    std::string negatives = {};  ///< the same of the others
};

namespace layers {

/// Area under the receiver operating characteristic: the chance that a positive row has a higher score than a
/// negative one, where rows of one bin count half. Scores are probabilities of any shape with one element for
/// each row; labels are as many integers (positive above 0) or real numbers (positive above 0.5). The
/// executor throws when a score is outside 0..1 or no number.
Auc auc(Program& program, const std::string& scores, const std::string& label,
        const AucOptions& options = {});

}  // namespace layers

/// The area by trapezoids of histograms over scores, bin 0 the lowest; 0.5 while one of them is empty. For
/// histograms that have been added up over ranks.
double area_under_curve(std::span<const double> positives, std::span<const double> negatives);

/// Sets everything to zero that metrics count.
void reset_metrics(const State& state);

}  // namespace dtrain
