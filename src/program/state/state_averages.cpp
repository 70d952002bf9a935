// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/state_averages.hpp"

#include <algorithm>
#include <iterator>

#include "program/state/neighbours.hpp"

namespace dtrain::program {

Segments segments_of(const std::vector<StateTensor>& state, const VariableNames& names) {
    std::vector<StateTensor> chosen;
    std::ranges::copy_if(state, std::back_inserter(chosen),
                         [&](const StateTensor& tensor) { return names.contains(tensor.name); });
    Segments segments;
    for (const auto& segment : neighbours_of(std::move(chosen)).segments)
        segments.emplace_back(reinterpret_cast<float*>(segment.device), segment.bytes / sizeof(float));
    return segments;
}

void average(const Segments& segments, const Communicator& communicator) {
    const auto ranks = static_cast<float>(communicator.size());
    for (const auto& segment : segments) {
        communicator.allreduce_sum(segment);
        for (auto& number : segment) number /= ranks;
    }
}

}  // namespace dtrain::program
