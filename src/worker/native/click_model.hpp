// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "worker/native/model.hpp"

namespace dtrain::native {

/// Sizes of the log that a click-through model is made for.
struct ClickSizes {
    std::int64_t local_batch = 0;
    std::int64_t integers = 0;
    std::int64_t slots = 0;
    std::int64_t rows = 0;        ///< of the embedding
    bool is_distributed = false;  ///< parameter servers have it, for any ids, `rows` distinct ones at most
};

inline constexpr const char* fed_dense = "dense";
inline constexpr const char* fed_ids = "ids";
inline constexpr const char* fed_click = "click";
inline constexpr const char* embedding_name = "embedding";

/// The chance of a click: rows of one sparse table for the ids of all slots, side by side with the dense
/// values, hidden layers, one logit, cross entropy. Fed: dense [local_batch, integers] unless there are none,
/// ids [local_batch, slots] in 0..rows (`rows` is an id that nobody knows: zeros, never trained; any ids when
/// the table is distributed), click and weight [local_batch]. Pure. @throws ProgramError
Model build_click_model(const ModelSettings& settings, const ClickSizes& sizes, const Optimizer& optimizer,
                        const Ranks& ranks, const OptimizerOptions& adjust = {});

}  // namespace dtrain::native
