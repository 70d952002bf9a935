// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/counts.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dtrain::ps {
namespace {

struct Field {
    const char* name;
    std::uint64_t ServerCounts::*value;
};

constexpr std::array fields{Field{"rows", &ServerCounts::rows},
                            Field{"bytes", &ServerCounts::bytes},
                            Field{"inserted", &ServerCounts::inserted},
                            Field{"evicted", &ServerCounts::evicted},
                            Field{"dropped", &ServerCounts::dropped},
                            Field{"rejected", &ServerCounts::rejected},
                            Field{"dense_rejected", &ServerCounts::dense_rejected}};

}  // namespace

ServerCounts counts_of(const Server& server) {
    ServerCounts sum{.dense_rejected = server.counts().dense_rejected};
    for (const auto& table : server.tables()) {
        sum.rows += table.size();
        sum.bytes += table.bytes();
        sum.inserted += table.counts().inserted;
        sum.evicted += table.counts().evicted;
        sum.dropped += table.counts().dropped;
        sum.rejected += table.counts().rejected;
    }
    return sum;
}

std::string to_text(const ServerCounts& counts) {
    nlohmann::json json;
    for (const auto& [name, value] : fields) json[name] = counts.*value;
    return json.dump();
}

ServerCounts sum_of(std::span<const std::string> texts) {
    ServerCounts sum;
    try {
        for (const auto& text : texts) {
            const auto json = nlohmann::json::parse(text);
            for (const auto& [name, value] : fields) sum.*value += json.at(name).get<std::uint64_t>();
        }
    } catch (const nlohmann::json::exception& wrong) {
        throw Error(fmt::format("a server's counts are none: {}", wrong.what()));
    }
    return sum;
}

}  // namespace dtrain::ps
