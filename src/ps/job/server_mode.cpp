// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <dtrain/server_mode.hpp>

namespace dtrain {
namespace {

template <class Value, std::size_t n>
using Names = std::array<std::pair<std::string_view, Value>, n>;

constexpr Names<ServerMode, 4> modes{{{"sync", ServerMode::sync},
                                      {"async", ServerMode::async},
                                      {"half_async", ServerMode::half_async},
                                      {"geo", ServerMode::geo}}};
constexpr Names<WireType, 3> wire_types{
    {{"float32", WireType::float32}, {"float16", WireType::float16}, {"bfloat16", WireType::bfloat16}}};

template <class Value, std::size_t n>
std::string name_in(const Names<Value, n>& names, Value value) {
    return std::string(std::ranges::find(names, value, &std::pair<std::string_view, Value>::second)->first);
}

template <class Value, std::size_t n>
std::optional<Value> value_in(const Names<Value, n>& names, std::string_view name) {
    const auto* const found = std::ranges::find(names, name, &std::pair<std::string_view, Value>::first);
    return found == names.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::string to_string(ServerMode mode) {
    return name_in(modes, mode);
}

std::optional<ServerMode> server_mode_of(std::string_view name) {
    return value_in(modes, name);
}

std::string to_string(WireType numbers) {
    return name_in(wire_types, numbers);
}

std::optional<WireType> wire_type_of(std::string_view name) {
    return value_in(wire_types, name);
}

}  // namespace dtrain
