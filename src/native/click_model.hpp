// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "native/model.hpp"

namespace dtrain::native {

/// Dimensions of the log that a click-through model is built for.
struct ClickSizes {
    std::int64_t local_batch = 0;
    std::int64_t integers = 0;
    std::int64_t slots = 0;
    std::int64_t rows = 0;        ///< rows of the embedding table
    bool is_distributed = false;  ///< on parameter servers: accepts any ids, at most `rows` distinct ones
};

inline constexpr const char* fed_dense = "dense";
inline constexpr const char* fed_ids = "ids";
inline constexpr const char* fed_click = "click";
inline constexpr const char* embedding_name = "embedding";

/// Predicts the probability of a click: the rows of one sparse table for the ids of all slots, concatenated
/// with the dense values, then hidden layers, one logit and cross-entropy loss. Inputs to feed: dense
/// [local_batch, integers] unless integers is 0; ids [local_batch, slots] in 0..rows (`rows` stands for an
/// unknown id: zeros, never trained), or any ids if the table is distributed; click and weight [local_batch].
/// Pure. @throws ProgramError
Model build_click_model(const ModelSettings& settings, const ClickSizes& sizes, const Optimizer& optimizer,
                        const Ranks& ranks, const OptimizerOptions& adjust = {});

}  // namespace dtrain::native
