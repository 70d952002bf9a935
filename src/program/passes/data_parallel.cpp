// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "parallel/bucket_plan.hpp"
#include "program/ir/exchanges.hpp"
#include "program/passes/parallel_program.hpp"

namespace dtrain {
namespace {

using program::Averaged;
using program::Exchange;
using program::ParallelProgram;

struct Bucket {
    std::vector<Exchange> exchanges;

    std::size_t made() const { return exchanges.back().made; }
    std::size_t read() const { return std::ranges::min_element(exchanges, {}, &Exchange::read)->read; }
};

std::vector<Bucket> buckets_of(const std::vector<Exchange>& exchanges, std::int64_t bucket_bytes) {
    std::vector<parallel::ExchangedArray> arrays;
    for (const auto& exchange : exchanges)
        arrays.push_back({.element = exchange.type,
                          .count = exchange.count,
                          .made = exchange.made,
                          .read = exchange.read});
    std::vector<Bucket> buckets;
    for (const auto& plan : parallel::plan_buckets(arrays, bucket_bytes)) {
        auto& bucket = buckets.emplace_back();
        for (const auto number : plan.arrays) bucket.exchanges.push_back(exchanges[number]);
    }
    return buckets;
}

struct Exchanges {
    std::vector<Exchange> all;
    std::vector<Exchange> dense;
    std::vector<Exchange> sparse;

    bool is_last_sparse_one(std::size_t made) const { return !sparse.empty() && sparse.back().made == made; }
};

Exchanges exchanges_to_add(const Program& program, const char* pass) {
    if (std::ranges::any_of(program.operators(), program::is_communication))
        throw ProgramError(fmt::format("{}: the program is data parallel already", pass), "allreduce_start",
                           "");
    Exchanges exchanges{.all = program::exchanges_of(program), .dense = {}, .sparse = {}};
    if (exchanges.all.empty())
        throw ProgramError(
            fmt::format("{}: no operator updates parameters from gradients; call minimize() first", pass), "",
            "");
    for (const auto& exchange : exchanges.all)
        (exchange.is_sparse ? exchanges.sparse : exchanges.dense).push_back(exchange);
    for (const auto& exchange : exchanges.sparse)
        if (program.variable(exchange.gradient).type != DataType::float32)
            throw ProgramError(
                fmt::format("{}: the sparse gradient '{}' is {}, and ranks add float32", pass,
                            exchange.gradient, to_string(program.variable(exchange.gradient).type)),
                "", exchange.gradient);
    return exchanges;
}

void expect_all_made_before_read(const std::vector<Exchange>& exchanges, const char* pass) {
    for (const auto& exchange : exchanges)
        if (exchange.read < exchanges.back().made)
            throw ProgramError(fmt::format("{}: '{}' is read before the gradient '{}' is made", pass,
                                           exchange.gradient, exchanges.back().gradient),
                               "", exchange.gradient);
}

/// Everything before the first update runs on all ranks; from there on every rank updates its shard.
Program with_one_copy(const Program& program, const Exchanges& exchanges, const Averaged& averaged) {
    const auto first_read = std::ranges::min_element(exchanges.all, {}, &Exchange::read)->read;
    expect_all_made_before_read(exchanges.all, "data_parallel");
    ParallelProgram result(program, exchanges.sparse, averaged);
    const auto& operators = program.operators();
    for (std::size_t number = 0; number < first_read; ++number) result.append(operators[number]);
    result.append_row_sum(true);
    const auto append_updates = [&](bool sparse) {
        for (std::size_t number = first_read; number < operators.size(); ++number)
            if (operators[number].input("rows").empty() != sparse) result.append(operators[number]);
    };
    for (std::size_t number = first_read; number < operators.size(); ++number)
        if (!program::is_update(program, operators[number]))
            throw ProgramError(fmt::format("data_parallel: with one_copy nothing but updates may follow the "
                                           "gradients, and operator {} does",
                                           operators[number].type),
                               operators[number].type, "");
    append_updates(true);
    result.append_sum("reduce_shares", exchanges.dense, {{"ranks", std::int64_t{averaged.ranks}}});
    append_updates(false);
    return std::move(result).take();
}

}  // namespace

Program data_parallel(const Program& program, const DataParallelOptions& options) {
    if (options.ranks < 1)
        throw ProgramError(fmt::format("data_parallel: {} ranks, expected at least 1", options.ranks), "",
                           "");
    if (options.micro_batches < 1)
        throw ProgramError(
            fmt::format("data_parallel: {} micro-batches, expected at least 1", options.micro_batches), "",
            "");
    auto exchanges = exchanges_to_add(program, "data_parallel");
    const Averaged averaged{options.ranks, options.micro_batches, options.ranks * options.micro_batches};
    if (averaged.batches == 1) exchanges.sparse.clear();
    if (options.one_copy) return with_one_copy(program, exchanges, averaged);
    expect_all_made_before_read(exchanges.sparse, "data_parallel");
    const auto buckets =
        options.ranks == 1 ? std::vector<Bucket>() : buckets_of(exchanges.dense, options.bucket_bytes);
    ParallelProgram result(program, exchanges.sparse, averaged);
    const auto communicate = [&](const char* type, std::size_t bucket) {
        result.append_sum(
            type, buckets[bucket].exchanges,
            {{"bucket", static_cast<std::int64_t>(bucket)}, {"ranks", std::int64_t{options.ranks}}});
    };
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].read() == number) communicate("allreduce_wait", i);
        result.append(program.operators()[number]);
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].made() == number) communicate("allreduce_start", i);
        if (exchanges.is_last_sparse_one(number)) result.append_row_sum();
    }
    return std::move(result).take();
}

Program with_virtual_ranks(const Program& program, int virtual_ranks) {
    if (virtual_ranks < 1)
        throw ProgramError(
            fmt::format("with_virtual_ranks: {} virtual ranks, expected at least 1", virtual_ranks), "", "");
    const auto exchanges = exchanges_to_add(program, "with_virtual_ranks");
    expect_all_made_before_read(exchanges.all, "with_virtual_ranks");
    ParallelProgram result(program, exchanges.sparse, {.ranks = 0, .batches = virtual_ranks});
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        result.append(program.operators()[number]);
        if (number != exchanges.all.back().made) continue;
        result.append_row_sum();
        result.append_sum("tree_sum", exchanges.dense, {{"virtual_ranks", std::int64_t{virtual_ranks}}});
    }
    return std::move(result).take();
}

}  // namespace dtrain
