// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/group_names.hpp"

#include <algorithm>
#include <cstdio>

#include "trace/rank_ranges.hpp"

namespace dtrain::trace_mpi {
namespace {

constexpr std::size_t max_ranks_text = 32;
constexpr std::size_t max_given = 40;

std::uint32_t checksum(std::string_view text) {
    std::uint32_t hash = 2166136261;  // FNV-1a
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
    return hash;
}

}  // namespace

std::string child_name(std::string_view parent, std::string_view kind, std::uint32_t number, int parent_size,
                       std::span<const int> job_ranks) {
    auto name = std::string(parent) + "/" + std::string(kind) + std::to_string(number);
    if (static_cast<int>(job_ranks.size()) < parent_size && !job_ranks.empty())
        name += "@" + std::to_string(*std::ranges::min_element(job_ranks));
    return name;
}

std::string ranks_text(std::span<const int> ranks) {
    auto text = trace::rank_ranges(ranks);
    if (text.size() <= max_ranks_text) return text;
    char sum[16];
    std::snprintf(sum, sizeof sum, "...%08x", static_cast<unsigned>(checksum(text)));
    return text.substr(0, text.rfind(',', max_ranks_text - sizeof sum)) + sum;
}

std::string given_name(std::string_view given, std::string_view own) {
    return std::string(given.substr(0, max_given)) + " (" + std::string(own) + ")";
}

}  // namespace dtrain::trace_mpi
