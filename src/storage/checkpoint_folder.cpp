// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <compare>
#include <iterator>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr std::string_view epoch_mark = "epoch-";
constexpr std::string_view step_mark = "-step-";
constexpr std::string_view file_suffix = ".h5";
constexpr const char* latest_name = "latest";
constexpr const char* run_name = ".dtrain-run";
constexpr std::uintmax_t max_small_file = 16 << 20;

struct Moment {
    std::int64_t epoch = 0;
    std::int64_t step = 0;
    friend auto operator<=>(const Moment&, const Moment&) = default;
};

/// Epoch and step from "epoch-000012-step-000008" or "epoch-000012.h5", or nothing.
std::optional<Moment> moment_of(const std::filesystem::path& path) {
    const auto name = path.filename().string();
    std::string_view text = name;
    if (!text.starts_with(epoch_mark)) return std::nullopt;
    text.remove_prefix(epoch_mark.size());
    if (text.ends_with(file_suffix)) text.remove_suffix(file_suffix.size());
    const auto middle = text.find(step_mark);
    const auto epoch = parse_int<std::int64_t>(text.substr(0, middle));
    const auto step = middle == std::string_view::npos
                          ? std::optional<std::int64_t>(0)
                          : parse_int<std::int64_t>(text.substr(middle + step_mark.size()));
    if (!epoch || !step) return std::nullopt;
    return Moment{*epoch, *step};
}

/// Those that are checkpoints, in chronological order.
std::multimap<Moment, std::filesystem::path> checkpoints_of(const std::vector<std::filesystem::path>& paths) {
    std::multimap<Moment, std::filesystem::path> found;
    for (const auto& path : paths)
        if (const auto moment = moment_of(path)) found.emplace(*moment, path);
    return found;
}

/// Whether it is a leftover of a killed process.
bool is_unfinished(const std::string& name) {
    for (const auto* begin : {".tmp-epoch-", "latest.tmp.", ".dtrain-run.tmp."})
        if (name.starts_with(begin)) return true;
    return false;
}

bool is_not_ours(const std::filesystem::path& file) {
    return ::access(file.c_str(), R_OK) != 0 && (errno == ENOENT || errno == EACCES);
}

/// Nothing if it cannot be read.
std::optional<std::filesystem::path> name_in(const std::filesystem::path& file) {
    try {
        const auto content = read_regular_file(file, Links::followed, max_small_file);
        return std::filesystem::path(trimmed(content)).filename();
    } catch (const UnreadableFile&) {
        return std::nullopt;
    }
}

void replace(const std::filesystem::path& file, const std::string& content) {
    try {
        replace_file(file, content);
    } catch (const std::system_error& error) {
        throw Error("cannot write " + file.string() + ": " + error.code().message());
    }
}

}  // namespace

std::filesystem::path CheckpointFolder::path(const CheckpointHeader& header, CheckpointFormat format) const {
    auto name = fmt::format("{}{:06}", epoch_mark, header.epoch);
    if (header.epoch_step != 0) name += fmt::format("{}{:06}", step_mark, header.epoch_step);
    if (format == CheckpointFormat::file) name += file_suffix;
    return folder_ / name;
}

std::vector<std::filesystem::path> CheckpointFolder::all() const {
    std::vector<std::filesystem::path> out;
    for (const auto& [moment, path] : checkpoints_of(all_paths_in(folder_))) out.push_back(path);
    return out;
}

std::optional<std::filesystem::path> CheckpointFolder::latest() const {
    const auto name = name_in(folder_ / latest_name);
    if (!name) return std::nullopt;
    auto named = folder_ / *name;
    if (!moment_of(named) || !std::filesystem::exists(named)) return std::nullopt;
    return named;
}

std::optional<std::filesystem::path> CheckpointFolder::newest() const {
    const auto in_order = candidates();
    return in_order.empty() ? std::nullopt : std::optional(in_order.front());
}

std::vector<std::filesystem::path> CheckpointFolder::candidates() const {
    auto out = all();
    std::ranges::reverse(out);
    if (const auto first = latest()) {
        std::erase(out, *first);
        out.insert(out.begin(), *first);
    }
    return out;
}

std::vector<std::filesystem::path> CheckpointFolder::own() const {
    auto out = candidates();
    std::erase_if(
        out, [names = published()](const auto& each) { return !names.contains(each.filename().string()); });
    return out;
}

std::set<std::string> CheckpointFolder::published() const {
    const auto file = folder_ / run_name;
    if (run_.empty() || is_not_ours(file)) return {};
    const auto lines = split(trimmed(read_regular_file(file, Links::followed, max_small_file)), '\n');
    if (lines.front() != run_) return {};
    return {lines.begin() + 1, lines.end()};
}

void CheckpointFolder::write_run(const std::string& name) const {
    const auto file = folder_ / run_name;
    if (run_.empty()) {
        // From now on, its names may refer to checkpoints of other runs.
        std::error_code ignored;
        std::filesystem::remove(file, ignored);
        return;
    }
    auto names = published();
    std::erase_if(names, [&](const auto& each) { return !std::filesystem::exists(folder_ / each); });
    names.insert(name);
    auto content = run_ + "\n";
    for (const auto& each : names) content += each + "\n";
    replace(file, content);
}

std::filesystem::path CheckpointFolder::save(const Checkpoint& checkpoint, int keep,
                                             CheckpointFormat format) const {
    auto target = path(checkpoint, format);
    if (format == CheckpointFormat::file)
        save_checkpoint(target, checkpoint);
    else
        save_checkpoint_directory(target, checkpoint);
    publish(target, keep);
    return target;
}

void CheckpointFolder::publish(const std::filesystem::path& path, int keep, const Needs& needs) const {
    write_run(path.filename().string());
    replace(folder_ / latest_name, path.filename().string() + "\n");
    std::error_code ignored;
    const auto all = paths_in(folder_);
    for (const auto& each : all)
        if (is_unfinished(each.filename().string())) std::filesystem::remove_all(each, ignored);
    std::vector<std::filesystem::path> old;
    std::set<std::string> needed;
    const auto found = checkpoints_of(all);
    // Later ones belong to an earlier run in the same folder; this run will replace them.
    const auto moment = moment_of(path);
    auto behind = moment ? found.upper_bound(*moment) : found.end();
    auto left = std::distance(found.begin(), behind) - keep;
    for (const auto& [of, checkpoint] : found) {
        if (left-- > 0)
            old.push_back(checkpoint);
        else if (needs)
            for (auto& name : needs(checkpoint)) needed.insert(std::move(name));
    }
    for (const auto& checkpoint : old)
        if (!needed.contains(checkpoint.filename().string()))
            std::filesystem::remove_all(checkpoint, ignored);
}

}  // namespace dtrain
