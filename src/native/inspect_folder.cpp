// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/inspect_folder.hpp"

#include <cstdint>
#include <ctime>
#include <optional>
#include <sys/stat.h>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/text.hpp"
#include "checkpoint/state_checkpoint.hpp"
#include "model/server_checkpointer.hpp"
#include "ps/job/check_save.hpp"
#include "storage/checkpoint_index.hpp"

namespace dtrain::native {
namespace {

constexpr const char* unknown = "-";

/// What is known about a checkpoint, any part of which may be damaged.
struct Listed {
    std::optional<CheckpointHeader> header;
    std::optional<std::int64_t> ranks;  ///< number of training ranks
    std::optional<std::int64_t> servers;
    std::optional<std::string> damage;
};

/// The number of training ranks, known only from a checkpoint within an epoch: it has one sum per rank.
std::optional<std::int64_t> ranks_of(const CheckpointHeader& header) {
    if (header.sums.empty()) return std::nullopt;
    return std::ssize(header.sums.begin()->second);
}

void check(const storage::StoredCheckpoint& stored) {
    stored.read(std::vector<std::byte*>(stored.tensors().size()));
}

Listed listed(const std::filesystem::path& checkpoint) {
    Listed out;
    out.damage = checkpoint::refusal_of([&] {
        const auto stored = model::trainers_part(checkpoint);
        out.header = stored.header();
        out.ranks = ranks_of(stored.header());
        if (model::is_of_servers(checkpoint)) {
            out.servers = ps::info_of_save(checkpoint).servers;
            ps::check_save(checkpoint);
        } else {
            check(stored);
        }
    });
    return out;
}

std::uintmax_t bytes_of(const std::filesystem::path& checkpoint) {
    if (!std::filesystem::is_directory(checkpoint)) return size_or_zero(checkpoint);
    std::uintmax_t bytes = 0;
    for (const auto& path : paths_in(checkpoint)) bytes += size_or_zero(path);
    return bytes;
}

/// Time of last modification.
std::string time_of(const std::filesystem::path& checkpoint) {
    struct stat info {};
    if (::stat(checkpoint.c_str(), &info) != 0) return unknown;
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(info.st_mtime));
}

std::string number_or_unknown(const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : unknown;
}

std::vector<std::string> row_of(const std::filesystem::path& checkpoint, bool is_latest) {
    const auto info = listed(checkpoint);
    const auto of_header = [&](std::int64_t CheckpointHeader::*field) {
        return info.header ? std::to_string((*info.header).*field) : unknown;
    };
    return {checkpoint.filename().string(),
            of_header(&CheckpointHeader::epoch),
            of_header(&CheckpointHeader::epoch_step),
            of_header(&CheckpointHeader::step),
            time_of(checkpoint),
            number_or_unknown(info.ranks),
            number_or_unknown(info.servers),
            std::to_string(bytes_of(checkpoint)),
            info.damage.value_or("intact") + (is_latest ? ", latest" : "")};
}

}  // namespace

bool is_folder_of_checkpoints(const std::filesystem::path& path) {
    return std::filesystem::is_directory(path) && !std::filesystem::exists(path / storage::index_name) &&
           !model::is_of_servers(path);
}

std::string inspect_folder(const std::filesystem::path& folder) {
    const CheckpointFolder checkpoints(folder);
    const auto all = checkpoints.all();
    if (all.empty())
        throw UsageError(
            fmt::format("{}: this folder is no checkpoint, and there is none in it", folder.string()));
    const auto latest = checkpoints.latest();
    std::vector<std::vector<std::string>> rows{{"checkpoint", "epochs", "and steps", "steps in all",
                                                "written", "ranks", "servers", "bytes", "state"}};
    for (const auto& each : all) rows.push_back(row_of(each, each == latest));
    auto text = join(aligned(rows), "\n") + "\n";
    if (!latest)
        text += fmt::format("\n{} names none of them; --resume takes {}\n", (folder / "latest").string(),
                            checkpoints.newest()->filename().string());
    return text;
}

}  // namespace dtrain::native
