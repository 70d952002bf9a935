// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/long_value.hpp"

#include <fmt/format.h>

namespace dtrain::cluster {
namespace {

std::string continuation(const std::string& name, int number) {
    return fmt::format("{}_{}", name, number);
}

}  // namespace

void set_long(Environment& environment, const std::string& name, const std::string& value) {
    unset_continuations(environment, name);
    environment.set(name, value.substr(0, max_value));
    int number = 2;
    for (auto begin = max_value; begin < value.size(); begin += max_value)
        environment.set(continuation(name, number++), value.substr(begin, max_value));
}

std::optional<std::string> get_long(const Environment& environment, const std::string& name) {
    auto value = environment.get(name);
    if (!value) return value;
    for (int number = 2; const auto more = environment.get(continuation(name, number)); ++number)
        *value += *more;
    return value;
}

void unset_continuations(Environment& environment, const std::string& name) {
    for (int number = 2; environment.has(continuation(name, number)); ++number)
        environment.unset(continuation(name, number));
}

}  // namespace dtrain::cluster
