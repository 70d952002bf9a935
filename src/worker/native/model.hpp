// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dtrain/program.hpp>

#include "worker/native/job_file.hpp"

namespace dtrain::native {

/// Sizes of the data that a model is made for.
struct ModelSizes {
    std::int64_t local_batch = 0;
    std::int64_t features = 0;
    std::int64_t classes = 0;
};

/// Who gives the gradients.
struct Ranks {
    int real = 1;
    int virtual_ones = 0;   ///< 0: the real ranks do
    bool one_copy = false;  ///< of parameters and optimizer state on each node
};

/// A job's model as programs for one rank. Fed: x [local_batch, features], label and weight [local_batch].
struct Model {
    Program train;                ///< a step of training, data parallel over the ranks
    Program test;                 ///< the metrics alone
    std::string loss_sum;         ///< [1], sum of weight * loss over the local batch
    std::string correct;          ///< [1], sum of weight over what is classified right
    std::string description;      ///< "64-128-64-10 relu"
    std::int64_t parameters = 0;  ///< numbers to train
};

inline constexpr const char* fed_x = "x";
inline constexpr const char* fed_label = "label";
inline constexpr const char* fed_weight = "weight";

/// A multi-layer perceptron with softmax cross entropy. Pure. @throws ProgramError
Model build_model(const ModelSettings& settings, const ModelSizes& sizes, const Optimizer& optimizer,
                  const Ranks& ranks, const OptimizerOptions& adjust = {});

}  // namespace dtrain::native
