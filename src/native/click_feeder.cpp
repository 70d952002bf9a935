// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/click_feeder.hpp"

#include <fmt/format.h>

#include "native/click_model.hpp"

namespace dtrain::native {

void ClickFeeder::bind(Executor& executor) {
    if (integers_ > 0) dense_ = executor.feed<float>(fed_dense);
    ids_ = executor.feed<std::int64_t>(fed_ids);
    click_ = executor.feed<float>(fed_click);
    weight_ = executor.feed<float>(fed_weight);
}

Lookup ClickFeeder::ahead_of(std::span<const std::int64_t> ids) {
    return {fmt::format("{}.weight", embedding_name), ids};
}

}  // namespace dtrain::native
