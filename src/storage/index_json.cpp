// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/index_json.hpp"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain::storage {
namespace {

using nlohmann::json;

std::string hex(std::uint64_t sum) {
    return fmt::format("{:016x}", sum);
}

std::uint64_t from_hex(const json& value) {
    return parse_int<std::uint64_t>(value.get<std::string>(), 16).value_or(0);
}

json as_json(const ShardInfo& info) {
    auto pieces = json::array();
    for (const auto& [piece, offset, sum] : info.pieces)
        pieces.push_back({piece.tensor, piece.first_row, piece.rows, offset, hex(sum)});
    json out = {{"bytes", info.bytes}, {"frame", hex(info.frame)}, {"pieces", std::move(pieces)}};
    if (info.begin != 0) out["begin"] = info.begin;
    return out;
}

ShardInfo shard_from(const json& value) {
    ShardInfo info{value.at("bytes").get<std::int64_t>(),
                   value.value("begin", std::int64_t{0}),
                   from_hex(value.at("frame")),
                   {}};
    for (const auto& piece : value.at("pieces"))
        info.pieces.push_back({{piece.at(0).get<std::size_t>(), piece.at(1).get<std::int64_t>(),
                                piece.at(2).get<std::int64_t>()},
                               piece.at(3).get<std::int64_t>(),
                               from_hex(piece.at(4))});
    return info;
}

TensorInfo tensor_from(const json& value) {
    const auto type = value.at("type").get<std::string>();
    const auto element = std::ranges::find(data_types, type, [](DataType each) { return to_string(each); });
    if (element == data_types.end()) throw json::other_error::create(501, type, nullptr);
    return {value.at("name").get<std::string>(), *element,
            value.at("shape").get<std::vector<std::int64_t>>()};
}

}  // namespace

std::string to_json(const ShardInfo& info) {
    return dumped(as_json(info));
}

ShardInfo shard_info_from_json(std::string_view text) {
    const auto info = read_json(text, shard_from);
    if (!info) throw Error("a rank sent no info of its shard but '" + std::string(text) + "'");
    return *info;
}

json as_json(const CheckpointIndex& index) {
    const auto& header = index.header;
    json out = {{"epoch", header.epoch},
                {"step", header.step},
                {"epoch_step", header.epoch_step},
                {"seed", std::to_string(header.seed)},
                {"job", header.job},
                {"sums", header.sums},
                {"tensors", json::array()},
                {"shards", json::array()}};
    for (const auto& tensor : index.tensors)
        out["tensors"].push_back(
            {{"name", tensor.name}, {"type", to_string(tensor.element)}, {"shape", tensor.shape}});
    for (const auto& shard : index.shards) out["shards"].push_back(as_json(shard));
    return out;
}

std::optional<CheckpointIndex> index_from_json(std::string_view text) {
    return read_json(text, [](const json& value) {
        CheckpointIndex index;
        auto& header = index.header;
        header.epoch = value.at("epoch").get<std::int64_t>();
        header.step = value.at("step").get<std::int64_t>();
        header.epoch_step = value.at("epoch_step").get<std::int64_t>();
        header.seed = parse_int<std::uint64_t>(value.at("seed").get<std::string>()).value_or(0);
        header.job = value.at("job").get<std::map<std::string, std::string>>();
        for (const auto& [name, values] : value.at("sums").items())
            for (const auto& sum : values)  // JSON cannot represent NaN and infinity
                header.sums[name].push_back(sum.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                          : sum.get<double>());
        for (const auto& tensor : value.at("tensors")) index.tensors.push_back(tensor_from(tensor));
        for (const auto& shard : value.at("shards")) index.shards.push_back(shard_from(shard));
        return index;
    });
}

}  // namespace dtrain::storage
