// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state_averages.hpp"

#include <algorithm>
#include <iterator>

#include "program/neighbours.hpp"

namespace dtrain::program {

Stretches stretches_of(const std::vector<StateTensor>& state, const VariableNames& names) {
    std::vector<StateTensor> chosen;
    std::ranges::copy_if(state, std::back_inserter(chosen),
                         [&](const StateTensor& tensor) { return names.contains(tensor.name); });
    Stretches stretches;
    for (const auto& stretch : neighbours_of(std::move(chosen)).stretches)
        stretches.emplace_back(reinterpret_cast<float*>(stretch.there), stretch.bytes / sizeof(float));
    return stretches;
}

void average(const Stretches& stretches, const Communicator& communicator) {
    const auto ranks = static_cast<float>(communicator.size());
    for (const auto& stretch : stretches) {
        communicator.allreduce_sum(stretch);
        for (auto& number : stretch) number /= ranks;
    }
}

}  // namespace dtrain::program
