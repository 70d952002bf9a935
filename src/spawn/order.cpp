// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/order.hpp"

#include <cstdlib>
#include <exception>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::spawning {
namespace {

std::optional<Order> take_order() {
    const auto text = Environment::of_this_process().get(order_variable);
    if (!text) return std::nullopt;
    ::unsetenv(order_variable);
    return Order::parse(*text);
}

[[noreturn]] void fail(const Order& order, int rank, const std::string& message) {
    order.folder.write_failure(rank, message);
    write_all(STDERR_FILENO, fmt::format("dtrain: rank {}: {}\n", rank, message));
    std::exit(1);
}

}  // namespace

std::string Order::to_text() const {
    return fmt::format("{}:{}", call, folder.path().string());
}

Order Order::parse(const std::string& text) {
    const auto colon = text.find(':');
    const auto call = parse_int<std::size_t>(text.substr(0, colon));
    if (colon == std::string::npos || !call)
        throw UsageError(
            fmt::format("{} is '{}', which spawn() has not written; unset it", order_variable, text));
    return {*call, SpawnFolder(text.substr(colon + 1))};
}

const std::optional<Order>& order_of_this_process() {
    static const auto order = take_order();
    return order;
}

void obey(const Order& order, const std::function<std::string(const std::string&)>& run) {
    const int rank = Environment::of_this_process().get_int("PADDLE_TRAINER_ID").value_or(0);
    try {
        order.folder.write_result(rank, run(order.folder.arguments()));
    } catch (const std::exception& thrown) {
        fail(order, rank, thrown.what());
    } catch (...) {
        fail(order, rank, "an exception that is no std::exception");
    }
    std::exit(0);
}

}  // namespace dtrain::spawning
