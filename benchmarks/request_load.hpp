// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "table_load.hpp"

/// The same load of requests for the parameter server and for the minimal one. A server here is a type with
/// pull(ids, rows) and push(ids, gradients), which return once the answer has arrived.
namespace dtrain::benchmarks {

struct RequestLoad {
    std::string optimizer;  ///< sgd or adam
    std::size_t width = 0;
    std::size_t batch = 0;
    std::size_t rows = 0;
};

struct RequestFigures {
    double rate = 0;  ///< million keys per second: the median over blocks of time
    double p50 = 0;   ///< microseconds per request
    double p99 = 0;
};

inline RequestLoad request_load_of(char** arguments) {
    return {arguments[0], std::stoul(arguments[1]), std::stoul(arguments[2]), std::stoul(arguments[3])};
}

/// Pulls every id once, `batch` at a time.
template <class Server>
void touch_all(Server& server, const RequestLoad& load) {
    std::vector<std::int64_t> ids;
    std::vector<float> rows(load.batch * load.width);
    for (std::size_t n = 0; n < load.rows; n += ids.size()) {
        ids.clear();
        for (auto i = n; i < std::min(n + load.batch, load.rows); ++i) ids.push_back(nth_id(i));
        server.pull(ids, std::span(rows).first(ids.size() * load.width));
    }
}

/// Calls request(number) repeatedly, after a warm-up of one block. Blocks are long enough that a short
/// interruption by another program does not dominate one.
template <class Request>
RequestFigures figures_of(const RequestLoad& load, const Request& request) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds block{50};
    constexpr int blocks = 11;
    std::vector<double> microseconds;
    std::vector<double> rates;
    std::size_t number = 0;
    for (int i = -1; i < blocks; ++i) {
        if (i == 0) microseconds.clear();
        const auto before = microseconds.size();
        const auto begin = Clock::now();
        auto now = begin;
        while (now - begin < block) {
            request(number++);
            const auto end = Clock::now();
            microseconds.push_back(std::chrono::duration<double, std::micro>(end - now).count());
            now = end;
        }
        const std::chrono::duration<double, std::micro> spent = now - begin;
        const auto keys = static_cast<double>((microseconds.size() - before) * load.batch);
        if (i >= 0) rates.push_back(keys / spent.count());
    }
    std::ranges::sort(microseconds);
    std::ranges::sort(rates);
    return {rates[rates.size() / 2], microseconds[microseconds.size() / 2],
            microseconds[microseconds.size() * 99 / 100]};
}

/// Calls tell(name, figures) for pulls, for pushes, and for a pull followed by a push of the same batch.
template <class Server, class Tell>
void measure_requests(Server& server, const RequestLoad& load, const Tell& tell) {
    const auto batches = batches_of({.batch = load.batch, .rows = load.rows});
    std::vector<float> rows(load.batch * load.width);
    const std::vector<float> gradients(load.batch * load.width, 0.001F);
    const auto pull = [&](std::size_t number) { server.pull(batches[number % batches.size()], rows); };
    const auto push = [&](std::size_t number) { server.push(batches[number % batches.size()], gradients); };
    tell("pull", figures_of(load, pull));
    tell("push", figures_of(load, push));
    tell("both", figures_of(load, [&](std::size_t number) {
             pull(number);
             push(number);
         }));
}

}  // namespace dtrain::benchmarks
