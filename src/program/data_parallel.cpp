// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/exchanges.hpp"

namespace dtrain {
namespace {

using program::Exchange;

/// An operator that adds gradients of all ranks.
Operator sum_of_all(std::string type, const std::vector<Exchange>& exchanges, Attributes attributes) {
    Operator sum{std::move(type), {}, {}, std::move(attributes)};
    for (const auto& exchange : exchanges) sum.inputs.push_back({"gradient", exchange.gradient});
    sum.outputs = sum.inputs;
    return sum;
}

struct Bucket {
    std::vector<Exchange> exchanges;
    std::int64_t bytes = 0;
    std::size_t read = program::nowhere;  // the first operator that reads one of them

    std::size_t made() const { return exchanges.back().made; }

    Operator communication(const std::string& type, std::size_t number, int ranks) const {
        return sum_of_all(type, exchanges,
                          {{"bucket", static_cast<std::int64_t>(number)}, {"ranks", std::int64_t{ranks}}});
    }
};

std::vector<Bucket> buckets_of(const std::vector<Exchange>& exchanges, std::int64_t bucket_bytes) {
    std::vector<Bucket> buckets;
    for (const auto& exchange : exchanges) {
        // A bucket that is read before this gradient is made cannot wait for it.
        const bool full = buckets.empty() ||
                          buckets.back().bytes >= std::max<std::int64_t>(bucket_bytes, 1) ||
                          buckets.back().read <= exchange.made;
        if (full) buckets.emplace_back();
        auto& bucket = buckets.back();
        bucket.exchanges.push_back(exchange);
        bucket.bytes += exchange.bytes;
        bucket.read = std::min(bucket.read, exchange.read);
    }
    return buckets;
}

std::vector<Exchange> exchanges_to_add(const Program& program, const char* pass) {
    if (std::ranges::any_of(program.operators(), program::is_communication))
        throw ProgramError(fmt::format("{}: the program is data parallel already", pass), "allreduce_start",
                           "");
    auto exchanges = program::exchanges_of(program);
    if (exchanges.empty())
        throw ProgramError(
            fmt::format("{}: no operator updates parameters from gradients; call minimize() first", pass), "",
            "");
    for (const auto& exchange : exchanges)
        if (program.has(gradient_rows_name(exchange.gradient)))
            throw ProgramError(fmt::format("{}: the gradient of '{}' is sparse, and ranks add dense ones "
                                           "only; make its embedding with is_sparse = false",
                                           pass, exchange.parameter),
                               "", exchange.gradient);
    return exchanges;
}

/// Every gradient carries the factor of the loss's own gradient, so none has to be scaled.
Operator with_loss_divided(Operator op, int parts) {
    if (op.type == "loss_gradient")
        op.attributes["value"] = std::get<double>(op.attributes.at("value")) / parts;
    return op;
}

Program variables_of(const Program& program) {
    Program result;
    for (const auto& variable : program.variables()) result.add(variable);
    return result;
}

/// Up to the first update everything runs on all ranks, from there on every rank has its share.
Program with_one_copy(const Program& program, const std::vector<Exchange>& exchanges,
                      const DataParallelOptions& options) {
    const auto first_read = std::ranges::min_element(exchanges, {}, &Exchange::read)->read;
    auto result = variables_of(program);
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        const auto& op = program.operators()[number];
        if (number == first_read)
            result.append(sum_of_all("reduce_shares", exchanges, {{"ranks", std::int64_t{options.ranks}}}));
        if (number >= first_read && !program::is_update(program, op))
            throw ProgramError(fmt::format("data_parallel: with one_copy nothing but updates may follow the "
                                           "gradients, and operator {} does",
                                           op.type),
                               op.type, "");
        result.append(with_loss_divided(op, options.ranks * options.micro_batches));
    }
    return result;
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
    const auto exchanges = exchanges_to_add(program, "data_parallel");
    if (options.one_copy) return with_one_copy(program, exchanges, options);
    const auto buckets =
        options.ranks == 1 ? std::vector<Bucket>() : buckets_of(exchanges, options.bucket_bytes);

    auto result = variables_of(program);
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].read == number)
                result.append(buckets[i].communication("allreduce_wait", i, options.ranks));
        result.append(with_loss_divided(program.operators()[number], options.ranks * options.micro_batches));
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].made() == number)
                result.append(buckets[i].communication("allreduce_start", i, options.ranks));
    }
    return result;
}

Program with_virtual_ranks(const Program& program, int virtual_ranks) {
    if (virtual_ranks < 1)
        throw ProgramError(
            fmt::format("with_virtual_ranks: {} virtual ranks, expected at least 1", virtual_ranks), "", "");
    const auto exchanges = exchanges_to_add(program, "with_virtual_ranks");
    for (const auto& exchange : exchanges)
        if (exchange.read < exchanges.back().made)
            throw ProgramError(
                fmt::format("with_virtual_ranks: '{}' is read before the gradient '{}' is made",
                            exchange.gradient, exchanges.back().gradient),
                "", exchange.gradient);
    const auto sum = sum_of_all("tree_sum", exchanges, {{"virtual_ranks", std::int64_t{virtual_ranks}}});
    auto result = variables_of(program);
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        result.append(with_loss_divided(program.operators()[number], virtual_ranks));
        if (number == exchanges.back().made) result.append(sum);
    }
    return result;
}

}  // namespace dtrain
