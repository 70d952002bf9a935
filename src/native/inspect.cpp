// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/inspect.hpp"

#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "model/server_checkpointer.hpp"
#include "native/inspect_folder.hpp"
#include "ps/job/check_save.hpp"
#include "ps/store/describe_tables.hpp"
#include "storage/stored_checkpoint.hpp"

namespace dtrain::native {
namespace {

std::string moment_of(const CheckpointHeader& header) {
    auto text = fmt::format("{} epochs", header.epoch);
    if (header.epoch_step > 0) text += fmt::format(" and {} steps of the next", header.epoch_step);
    return text + fmt::format("; {} steps in all", header.step);
}

std::string needed_beside(const std::filesystem::path& checkpoint, const std::string& needed) {
    const auto beside = std::filesystem::canonical(checkpoint).parent_path() / needed;
    return std::filesystem::exists(beside) ? needed : needed + ", which is not beside it";
}

}  // namespace

std::string inspect(const std::filesystem::path& checkpoint) {
    if (is_folder_of_checkpoints(checkpoint)) return inspect_folder(checkpoint);
    const bool by_servers = model::is_of_servers(checkpoint);
    const auto stored = model::trainers_part(checkpoint);
    const auto& header = stored.header();
    std::vector<std::vector<std::string>> info{{"checkpoint", checkpoint.string()},
                                               {"stands at", moment_of(header)}};
    if (by_servers)
        for (const auto& needed : ps::info_of_save(checkpoint).needs)
            info.push_back({"needs", needed_beside(checkpoint, needed)});
    for (const auto& [field, value] : header.job) info.push_back({field, value});
    std::vector<std::vector<std::string>> tensors{{"tensor", "elements", "shape", "bytes"}};
    for (const auto& tensor : stored.tensors())
        tensors.push_back({tensor.name, to_string(tensor.element), to_string(tensor.shape),
                           std::to_string(tensor.bytes())});
    auto text = fmt::format("{}\n\n{}\n", join(aligned(info), "\n"), join(aligned(tensors), "\n"));
    if (const auto tables = ps::describe_tables(checkpoint); by_servers && !tables.empty())
        text += "\n" + tables;
    return text;
}

}  // namespace dtrain::native
