// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/tensor.hpp>

#include "kernels/functors/optimizer_info.hpp"

namespace dtrain::program {

/// The settings of a rule as attributes of its operator.
template <class Rule>
Attributes update_attributes(const typename Rule::Settings& settings) {
    Attributes attributes{{"learning_rate", settings.learning_rate}};
    for (const auto& setting : Rule::settings)
        attributes.emplace(setting.name, setting.truth != nullptr
                                             ? Attribute(std::int64_t{settings.*setting.truth})
                                             : Attribute(settings.*setting.number));
    return attributes;
}

}  // namespace dtrain::program
