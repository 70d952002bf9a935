// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameter_check.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "comm/api/same_list.hpp"
#include "parallel/with_real.hpp"

namespace dtrain::parallel {
namespace {

std::optional<std::string> what_is_wrong(const std::vector<ParameterBuffers>& parameters) {
    if (parameters.empty()) return "there is no parameter whose gradient could be averaged";
    for (const auto& [name, values, gradient] : parameters) {
        if (values.size() != gradient.size())
            return fmt::format("parameter '{}' has {} values, but {} in its gradient", name, values.size(),
                               gradient.size());
        for (const auto type : {values.type(), gradient.type()})
            if (!is_real(type))
                return fmt::format("parameter '{}' has {} elements; values and gradients are {}", name,
                                   to_string(type), expected_of_gradients);
    }
    return std::nullopt;
}

/// "'w' (1000 float16)", "'w' (1000 bfloat16, gradient float32)".
std::string as_text(const ParameterBuffers& parameter) {
    const auto values = to_string(parameter.values.type());
    const auto gradient = to_string(parameter.gradient.type());
    return fmt::format("'{}' ({} {}{})", parameter.name, parameter.values.size(), values,
                       gradient == values ? "" : ", gradient " + gradient);
}

}  // namespace

void check_parameters(const Communicator& communicator, const std::vector<ParameterBuffers>& parameters) {
    throw_together(communicator, what_is_wrong(parameters));
    std::vector<std::string> list;
    for (const auto& parameter : parameters) list.push_back(as_text(parameter));
    if (const auto difference = comm::first_difference(communicator, list, "parameters"))
        throw_together(communicator, std::optional(*difference + "; build the same model everywhere"));
}

}  // namespace dtrain::parallel
