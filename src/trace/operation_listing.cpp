// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/operation_listing.hpp"

#include <fmt/format.h>

#include "trace/hang_diagnosis.hpp"

namespace dtrain::trace {
namespace {

using Seconds = std::chrono::duration<double>;
using Milliseconds = std::chrono::duration<double, std::milli>;

std::string state_of(const TimedOperation& operation) {
    if (operation.took) return fmt::format("took {:.3f} ms", Milliseconds(*operation.took).count());
    if (const auto waited = operation.operation.waited)
        return fmt::format("goes on, waited for since {:.2f} s", Seconds(*waited).count());
    if (operation.operation.has_ended) return "has ended";
    return "goes on";
}

}  // namespace

std::string operation_listing(const std::vector<TimedOperation>& operations) {
    std::string out;
    for (const auto& each : operations)
        out += fmt::format("{}: began {:.3f} s ago, {}\n", to_text(each.operation), Seconds(each.age).count(),
                           state_of(each));
    return out;
}

}  // namespace dtrain::trace
