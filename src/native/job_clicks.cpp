// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_clicks.hpp"

#include <array>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::native {
namespace {

constexpr std::int64_t memory_beside_a_cache = std::int64_t{1} << 30;
constexpr std::int64_t max_id = std::int64_t{1} << 62;

// In the order of the alternatives of ClickLayout.
constexpr std::array<const char*, std::variant_size_v<ClickLayout>> formats = {"criteo", "csv", "svmlight"};

const char* format_of(const ClickLayout& layout) {
    return formats[layout.index()];
}

/// A key of [data] and the formats that it applies to.
struct Setting {
    const char* key;
    std::array<bool, formats.size()> is_of;
};

constexpr std::array<Setting, 8> settings = {{{"integers", {true, false, false}},
                                              {"slots", {true, false, true}},
                                              {"numbers", {false, true, true}},
                                              {"categories", {false, true, false}},
                                              {"label", {false, true, false}},
                                              {"separator", {false, true, false}},
                                              {"header", {false, true, false}},
                                              {"first_id", {false, false, true}}}};

DatasetSource read_log(const Section& data, const char* key, const std::filesystem::path& folder) {
    for (const auto& setting : click_keys())
        if (data.is_table_with(key, setting))
            data.fail(key, fmt::format("[data.{}] '{}': it is for both logs, so write it into [data]", key,
                                       setting));
    const auto source = data.section(key, {"file"});
    if (!source.has("file")) source.fail("file", "a click log needs its 'file'");
    DatasetSource out;
    out.file = folder / source.text("file", "");
    return out;
}

/// The layout from [data] format, else from the file names of the logs.
ClickLayout layout_of(const Section& data, const Job& job) {
    if (data.has("format")) {
        const auto format = data.one_of("format", "", {formats.begin(), formats.end()});
        if (format == "csv") return CsvClickColumns{};
        if (format == "svmlight") return SvmlightClickColumns{};
        return ClickColumns{};
    }
    auto layout = click_layout_of(job.train_data.file);
    if (job.test_data) {
        const auto test = click_layout_of(job.test_data->file);
        if (test.index() != layout.index())
            data.fail("test",
                      fmt::format("by their names the training log is in format = \"{}\" and the test "
                                  "log in \"{}\"; say in [data] which format both have",
                                  format_of(layout), format_of(test)));
    }
    return layout;
}

void refuse_settings_of_other_formats(const Section& data, const ClickLayout& layout) {
    for (const auto& setting : settings) {
        if (!data.has(setting.key) || setting.is_of[layout.index()]) continue;
        std::vector<std::string> its_formats;
        for (std::size_t i = 0; i < formats.size(); ++i)
            if (setting.is_of[i]) its_formats.emplace_back(formats[i]);
        data.fail(setting.key, fmt::format("[data] '{}' is a setting of format = \"{}\", but it is \"{}\"{}",
                                           setting.key, join(its_formats, "\" or \""), format_of(layout),
                                           data.has("format") ? "" : " by the name of the training log"));
    }
}

void read(const Section& data, ClickColumns& columns) {
    columns.integers = data.whole("integers", columns.integers, 0, max_click_columns);
    columns.slots = data.whole("slots", columns.slots, 1, max_click_columns);
}

void read(const Section& data, CsvClickColumns& columns) {
    if (data.has("label")) columns.label = data.column("label");
    if (data.has("numbers")) columns.numbers = data.columns("numbers");
    if (data.has("categories")) columns.categories = data.columns("categories");
    columns.separator = data.separator("separator", columns.separator);
    if (data.has("header")) columns.header = data.truth("header", false);
}

std::vector<std::int64_t> slot_ids(const Section& data, std::int64_t min) {
    auto ids = data.wholes("slots", {}, min, max_id);
    if (ids.empty() || ids.size() > static_cast<std::size_t>(max_click_columns))
        data.fail("slots",
                  fmt::format("[data] slots: {}, but there must be 1..{}, each with its first id",
                              counted(static_cast<std::int64_t>(ids.size()), "slot"), max_click_columns));
    for (std::size_t i = 1; i < ids.size(); ++i)
        if (ids[i] <= ids[i - 1])
            data.fail("slots",
                      fmt::format("[data] slots: {} comes behind {}, but the first ids of slots have "
                                  "to ascend",
                                  ids[i], ids[i - 1]));
    return ids;
}

void read(const Section& data, SvmlightClickColumns& columns) {
    columns.first_id = data.whole("first_id", columns.first_id, 0, max_id);
    columns.numbers = data.whole("numbers", columns.numbers, 0, max_click_columns);
    if (data.is_list("slots"))
        columns.slot_ids = slot_ids(data, columns.first_id + columns.numbers);
    else
        columns.slots = data.whole("slots", columns.slots, 1, max_click_columns);
}

}  // namespace

std::vector<std::string> click_keys() {
    std::vector<std::string> keys{"format", "cache"};
    for (const auto& setting : settings) keys.emplace_back(setting.key);
    return keys;
}

void read_clicks(const Section& data, const std::filesystem::path& folder, Job& job) {
    if (data.has("scale")) data.fail("scale", "[data] 'scale' is for [model] kind = \"classifier\"");
    job.train_data = read_log(data, "train", folder);
    if (data.has("test")) job.test_data = read_log(data, "test", folder);
    job.click_columns = layout_of(data, job);
    refuse_settings_of_other_formats(data, job.click_columns);
    std::visit([&](auto& columns) { read(data, columns); }, job.click_columns);
    if (!data.has("cache")) return;
    job.click_cache = data.text("cache", "");
    job.data_memory = memory_beside_a_cache;
}

}  // namespace dtrain::native
