// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/same_version.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <dtrain/comm_error.hpp>

#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

/// Shorter texts are padded with zeros, longer ones are cut.
using Field = std::array<char, 64>;

Field field_of(std::string_view text) {
    Field field{};
    std::ranges::copy(text.substr(0, field.size()), field.begin());
    return field;
}

std::string text_of(const Field& field) {
    return {field.begin(), std::ranges::find(field, '\0')};
}

bool all_have(MPI_Comm all, const std::string& own) {
    auto min = field_of(own);
    auto max = min;
    constexpr int count = static_cast<int>(std::tuple_size_v<Field>);
    check(MPI_Allreduce(MPI_IN_PLACE, min.data(), count, MPI_UNSIGNED_CHAR, MPI_MIN, all), "MPI_Allreduce");
    check(MPI_Allreduce(MPI_IN_PLACE, max.data(), count, MPI_UNSIGNED_CHAR, MPI_MAX, all), "MPI_Allreduce");
    return min == max;
}

std::vector<HostVersion> gather(MPI_Comm all, const std::string& own) {
    int size = 0;
    check(MPI_Comm_size(all, &size), "MPI_Comm_size");
    using Fields = std::array<Field, 2>;
    const Fields mine{field_of(host_name()), field_of(own)};
    std::vector<Fields> of_all(static_cast<std::size_t>(size));
    check(MPI_Allgather(mine.data(), sizeof(Fields), MPI_BYTE, of_all.data(), sizeof(Fields), MPI_BYTE, all),
          "MPI_Allgather");
    std::vector<HostVersion> ranks;
    for (const auto& [host, version] : of_all) ranks.push_back({text_of(host), text_of(version)});
    return ranks;
}

}  // namespace

std::optional<std::string> version_difference(const std::vector<HostVersion>& ranks, std::string_view of) {
    std::vector<std::string> said;
    std::vector<std::string> known;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto& [host, version] = ranks[rank];
        if (std::ranges::find(known, version) != known.end()) continue;
        known.push_back(version);
        const auto count = std::ranges::count(ranks, version, &HostVersion::version);
        said.push_back(fmt::format("{} on {} (the first is rank {} on {})", version, counted(count, "rank"),
                                   rank, host));
    }
    if (known.size() < 2) return std::nullopt;
    return fmt::format("the ranks have different versions of {}: {}; install one on all nodes", of,
                       join(said, ", "));
}

void check_same_version(MPI_Comm all, const std::string& own) {
    if (all_have(all, own)) return;
    const auto ranks = gather(all, own);
    std::vector<std::string> versions;
    for (const auto& rank : ranks) versions.push_back(rank.version);
    throw VersionMismatch(version_difference(ranks).value(), std::move(versions));
}

}  // namespace dtrain::comm
