// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/optimizer_name.hpp"

#include <array>
#include <variant>

namespace dtrain::model {

std::string name_of(const Optimizer& optimizer) {
    static constexpr std::array names{"sgd", "momentum", "adam", "adagrad", "adamw", "ftrl"};
    static_assert(names.size() == std::variant_size_v<Optimizer>);
    return names[optimizer.index()];
}

}  // namespace dtrain::model
