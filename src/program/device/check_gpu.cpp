// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/check_gpu.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "program/exchange/server_link.hpp"
#include "program/ir/exchanges.hpp"

namespace dtrain::program {
namespace {

struct Unsupported {
    std::string_view type;
    std::string_view what;
};

constexpr std::string_view one_copy = "one copy of the parameters for the ranks of a node (one_copy)";
constexpr std::array unsupported{
    Unsupported{"reduce_shares", one_copy},
};

// What an operator requires that not every GPU has; "" if any GPU can run it.
std::string what_is_missing(const Operator& op) {
    for (const auto& [type, what] : unsupported)
        if (op.type == type) return std::string(what);
    if (op.type == "gather_rows" && whole_number(op, "one_copy") != 0) return std::string(one_copy);
    return "";
}

std::string what_is_missing(const Operator& op, const kernels::Gpu& gpu) {
    if (auto missing = what_is_missing(op); !missing.empty()) return missing;
    if (is_communication(op) || needs_servers(op.type)) return "";
    return gpu.has_kernel(op.type) ? "" : fmt::format("the operator {}", op.type);
}

std::string not_yet(std::string_view what) {
    return fmt::format("a GPU does not do {} yet", what);
}

[[noreturn]] void refuse(std::string_view what, const std::string& type) {
    throw ProgramError(fmt::format("{}: {}", not_yet(what), compute_on_the_cpu), type, "");
}

}  // namespace

std::string why_not_on_a_gpu(bool needs_one_copy) {
    return needs_one_copy ? not_yet(one_copy) : "";
}

std::string why_not_on_a_gpu(const State& state) {
    return why_not_on_a_gpu(state.is_shared());
}

std::string why_not_on_a_gpu(const Program& program, const State& state) {
    for (const auto& op : program.operators())
        if (const auto missing = what_is_missing(op); !missing.empty()) return not_yet(missing);
    return why_not_on_a_gpu(state);
}

void check_gpu_has_state(const State& state) {
    if (state.is_shared()) refuse(one_copy, "");
}

void check_gpu_has_all_of(const Program& program, const kernels::Gpu& gpu) {
    for (const auto& op : program.operators())
        if (const auto missing = what_is_missing(op, gpu); !missing.empty()) refuse(missing, op.type);
}

}  // namespace dtrain::program
