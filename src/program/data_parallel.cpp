// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <dtrain/passes.hpp>

namespace dtrain {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

// A gradient that updates read: where it is made and first read (numbers of operators).
struct Exchange {
    std::string gradient;
    std::int64_t bytes = 0;
    std::size_t made = nowhere;
    std::size_t read = nowhere;
};

// Gradients that updates read, in the order in which they are made.
std::vector<Exchange> exchanges_of(const Program& program) {
    const auto& operators = program.operators();
    const auto persists = [&](const Argument& argument) {
        return is_persistable(program.variable(argument.variable).role);
    };
    std::map<std::string, Exchange, std::less<>> by_name;
    for (const auto& op : operators) {
        if (std::ranges::none_of(op.outputs, persists)) continue;
        for (const auto& input : op.inputs) {
            const auto& variable = program.variable(input.variable);
            if (variable.role != Role::gradient) continue;
            const auto bytes =
                element_count(variable.shape) * static_cast<std::int64_t>(size_of(variable.type));
            by_name.try_emplace(variable.name, Exchange{variable.name, bytes});
        }
    }
    for (std::size_t number = 0; number < operators.size(); ++number) {
        for (const auto& input : operators[number].inputs)
            if (const auto at = by_name.find(input.variable); at != by_name.end())
                at->second.read = std::min(at->second.read, number);
        for (const auto& output : operators[number].outputs)
            if (const auto at = by_name.find(output.variable); at != by_name.end()) at->second.made = number;
    }
    std::vector<Exchange> exchanges;
    for (auto& [name, exchange] : by_name) exchanges.push_back(std::move(exchange));
    // Two gradients of one operator keep the order of the operator's outputs.
    const auto place = [&](const Exchange& exchange) {
        const auto& outputs = operators[exchange.made].outputs;
        return std::ranges::find(outputs, exchange.gradient, &Argument::variable) - outputs.begin();
    };
    std::ranges::sort(exchanges, [&](const Exchange& a, const Exchange& b) {
        return a.made != b.made ? a.made < b.made : place(a) < place(b);
    });
    return exchanges;
}

struct Bucket {
    std::vector<Exchange> exchanges;
    std::int64_t bytes = 0;
    std::size_t read = nowhere;  // the first operator that reads one of them

    std::size_t made() const { return exchanges.back().made; }

    Operator communication(const std::string& type, std::size_t number, int ranks) const {
        Operator op{
            type, {}, {}, {{"bucket", static_cast<std::int64_t>(number)}, {"ranks", std::int64_t{ranks}}}};
        for (const auto& exchange : exchanges) op.inputs.push_back({"gradient", exchange.gradient});
        op.outputs = op.inputs;
        return op;
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

}  // namespace

Program data_parallel(const Program& program, const DataParallelOptions& options) {
    if (options.ranks < 1)
        throw ProgramError(fmt::format("data_parallel: {} ranks, expected at least 1", options.ranks), "",
                           "");
    for (const auto& op : program.operators())
        if (op.type == "allreduce_start")
            throw ProgramError("data_parallel: the program is data parallel already", op.type, "");
    const auto exchanges = exchanges_of(program);
    if (exchanges.empty())
        throw ProgramError(
            "data_parallel: no operator updates parameters from gradients; call minimize() first", "", "");
    if (options.ranks == 1) return program;
    const auto buckets = buckets_of(exchanges, options.bucket_bytes);

    Program result;
    for (const auto& variable : program.variables()) result.add(variable);
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].read == number)
                result.append(buckets[i].communication("allreduce_wait", i, options.ranks));
        auto op = program.operators()[number];
        // Every gradient carries the factor of the loss's own gradient, so none has to be scaled.
        if (op.type == "loss_gradient")
            op.attributes["value"] = std::get<double>(op.attributes.at("value")) / options.ranks;
        result.append(std::move(op));
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (buckets[i].made() == number)
                result.append(buckets[i].communication("allreduce_start", i, options.ranks));
    }
    return result;
}

}  // namespace dtrain
