// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/restore_together.hpp"

#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/json_text.hpp"
#include "checkpoint/error_of.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/index_json.hpp"

namespace dtrain::checkpoint {
namespace {

/// The header of the first rank.
CheckpointHeader broadcast_header(const Communicator& communicator, const CheckpointHeader& header) {
    const auto text = communicator.broadcast(dumped(storage::as_json({header, {}, {}})));
    return storage::index_from_json(text).value().header;
}

/// The numbers of the first rank.
Numbers broadcast_numbers(const Communicator& communicator, const Numbers& numbers) {
    std::string names;
    for (const auto& [name, values] : numbers) names += fmt::format("{} {}\n", values.size(), name);
    std::istringstream lines(communicator.broadcast(names));
    Numbers received;
    std::size_t count = 0;
    for (std::string name; lines >> count && lines.ignore() && std::getline(lines, name);)
        received[name].resize(count);
    for (auto& [name, values] : received) {
        if (communicator.rank() == 0) values = numbers.at(name);
        communicator.broadcast(std::span<double>(values));
    }
    return received;
}

}  // namespace

Restored restore_together(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                          const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                          const std::function<void()>& undo,
                          const std::function<void(const std::string&)>& warn, const std::string& reader) {
    std::optional<std::string> refused;
    Restored found;
    if (communicator.rank() == 0) {
        try {
            found = restore_first(files, job, arrays, warn, reader);
        } catch (const UsageError& why) {
            refused = why.what();
            undo();
        }
    }
    throw_together(communicator, refused);
    arrays.broadcast_from_first(communicator);
    return {communicator.broadcast(found.file.string()), broadcast_header(communicator, found.header),
            broadcast_numbers(communicator, found.numbers)};
}

Restored restore_or_keep(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                         const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                         const std::function<void(const std::string&)>& warn, const std::string& reader) {
    std::vector<std::byte> before;
    if (communicator.rank() == 0) before = arrays.values();
    return restore_together(
        communicator, files, job, arrays, [&] { arrays.set_to(before); }, warn, reader);
}

std::vector<std::filesystem::path> candidates_together(const Communicator& communicator,
                                                       const CheckpointFolder& folder) {
    std::vector<std::filesystem::path> found;
    throw_together<Error>(communicator, error_of([&] {
                              if (communicator.rank() == 0) found = folder.candidates();
                          }));
    return found;
}

std::optional<Restored> restore_newest(const Communicator& communicator, const CheckpointFolder& folder,
                                       const std::map<std::string, std::string>& job,
                                       const StoredArrays& arrays,
                                       const std::function<void(const std::string&)>& warn,
                                       const std::string& reader) {
    const auto found = candidates_together(communicator, folder);
    if (communicator.max(static_cast<std::int64_t>(found.size())) == 0) return std::nullopt;
    const auto report = [&](const std::string& damaged) {
        if (warn) warn(damaged);
    };
    return restore_or_keep(communicator, found, job, arrays, report, reader);
}

}  // namespace dtrain::checkpoint
