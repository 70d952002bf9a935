// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_manifest.hpp"

#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "storage/block_io.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/index_block.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

constexpr const char* manifest_name = storage::servers_name;
constexpr std::string_view manifest_mark = "dtrain servers 1";
constexpr std::size_t max_name = 200;  ///< maximum length of a name in messages

auto reading(const std::filesystem::path& file, const auto& read) {
    try {
        return read();
    } catch (const UnreadableFile& error) {
        refuse(file, fmt::format("it cannot be read: {}", error.reason()));
    } catch (const std::system_error& error) {
        refuse(file, fmt::format("it cannot be read: {}", error.code().message()));
    }
}

/// Nothing if the text is not JSON, or is nested deeper than any manifest: recursive calls that write it
/// would overflow the stack.
std::optional<json> parsed(std::string_view text) {
    constexpr int deepest = 16;
    bool is_too_deep = false;
    auto manifest = json::parse(
        text,
        [&](int depth, json::parse_event_t, const json&) {
            is_too_deep = is_too_deep || depth > deepest;
            return !is_too_deep;
        },
        false);
    if (is_too_deep || manifest.is_discarded()) return std::nullopt;
    return manifest;
}

}  // namespace

std::string sum_of(const std::filesystem::path& file) {
    return reading(
        file, [&] { return fmt::format("{:016x}", storage::xxh3(open_regular_file(file, Links::refused))); });
}

void refuse(const std::filesystem::path& file, const std::string& what) {
    throw UsageError(fmt::format("{}: {}", file.string(), what));
}

std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name) {
    if (!is_plain_name(name))
        refuse(folder / manifest_name,
               fmt::format("it names '{}', which is no file in its folder", one_line(name, max_name)));
    return folder / name;
}

void write_manifest(const std::filesystem::path& folder, std::span<const std::string> servers,
                    std::span<const std::string> needs) {
    json all = json::array();
    std::set<std::string> theirs{manifest_name};  // may exist from an earlier write
    for (const auto& info : servers) {
        const auto& server = all.emplace_back(json::parse(info));
        theirs.insert(server.at("dense").at("file"));
        for (const auto& table : server.at("tables")) theirs.insert(table.at("file"));
    }
    std::map<std::string, std::string> others;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (const auto name = entry.path().filename().string(); !theirs.contains(name))
            others[name] = sum_of(entry.path());
    const auto text = json{{"servers", std::move(all)}, {"others", others}, {"needs", needs}}.dump(1) + "\n";
    const auto file = folder / manifest_name;
    try {
        replace_file(file, storage::sum_line(manifest_mark, text.size(), text) + text);
    } catch (const std::system_error& error) {
        throw Error("cannot write " + file.string() + ": " + error.code().message());
    }
}

json read_manifest(const std::filesystem::path& folder) {
    const auto file = folder / manifest_name;
    const auto content = reading(file, [&] { return read_regular_file(file, Links::refused); });
    const auto text = std::string_view(content).substr(content.find('\n') + 1);
    if (content != storage::sum_line(manifest_mark, text.size(), text).append(text))
        refuse(file, "it is damaged");
    auto manifest = parsed(text);
    if (!manifest) refuse(file, "it makes no sense");
    return *std::move(manifest);
}

std::vector<std::filesystem::path> chain_folders(const std::filesystem::path& folder, const json& manifest) {
    std::vector<std::filesystem::path> chain;
    for (const auto& each : manifest.value("needs", json::array())) {
        const auto name = each.get<std::string>();
        if (!is_plain_name(name) || name.front() == '.')
            refuse(folder / manifest_name,
                   fmt::format("it needs '{}', which is no checkpoint beside it", one_line(name, max_name)));
        // If the checkpoint is a symbolic link, its siblings are next to the link's target.
        chain.push_back(std::filesystem::canonical(folder).parent_path() / name);
    }
    chain.push_back(folder);
    return chain;
}

std::vector<std::string> needs_of(const std::filesystem::path& folder) {
    std::vector<std::string> needs;
    try {
        for (const auto& each : chain_folders(folder, read_manifest(folder)))
            needs.push_back(each.filename().string());
        needs.pop_back();
    } catch (const std::exception&) {
        needs.clear();
    }
    return needs;
}

void check_others(const std::filesystem::path& folder, const json& manifest) {
    for (const auto& [name, sum] : manifest.at("others").items())
        if (const auto file = named_file(folder, name); sum_of(file) != sum.get<std::string>())
            refuse(file, "it is damaged");
}

}  // namespace dtrain::ps
