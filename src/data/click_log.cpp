// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <xxhash.h>

#include <fmt/format.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "base/text.hpp"
#include "data/read_clicks.hpp"
#include "data/read_dataset.hpp"
#include "storage/hash.hpp"

namespace dtrain {
namespace {

// Not ".tsv" and ".txt", which Criteo's own logs use.
constexpr std::array<std::string_view, 1> csv_endings = {".csv"};

}  // namespace

ClickLayout click_layout_of(const std::filesystem::path& file) {
    if (data::name_ends_with(file, data::svmlight_endings)) return SvmlightClickColumns{};
    if (data::name_ends_with(file, csv_endings)) return CsvClickColumns{};
    return ClickColumns{};
}

ClickLayout click_layout_in(const std::filesystem::path& log, const ClickLayout& layout) {
    if (const auto* csv = std::get_if<CsvClickColumns>(&layout)) return data::columns_in(log, *csv);
    if (const auto* svmlight = std::get_if<SvmlightClickColumns>(&layout))
        return data::columns_in(log, *svmlight);
    return layout;
}

std::unique_ptr<data::ClickStream> data::open_clicks(const std::filesystem::path& file,
                                                     const ClickLayout& layout) {
    return std::visit([&](const auto& columns) { return data::stream_clicks(file, columns); }, layout);
}

ClickLog ClickLog::read(const std::filesystem::path& file, const ClickLayout& layout) {
    const auto clicks = data::open_clicks(file, layout);
    ClickLog log;
    while (clicks->next(log)) {
    }
    log.integers = clicks->integers();
    log.slots = clicks->slots();
    return log;
}

ClickLog ClickLog::read(const std::filesystem::path& file, const ClickColumns& columns) {
    return read(file, ClickLayout(columns));
}

std::uint64_t ClickLog::fingerprint() const {
    storage::Hash hash;
    hash.add(static_cast<std::uint64_t>(integers));
    hash.add(static_cast<std::uint64_t>(slots));
    hash.add(std::span<const float>(labels));
    hash.add(std::span<const float>(dense));
    hash.add(std::span<const std::int64_t>(ids));
    return hash.value();
}

void ClickLog::gather(std::span<const std::int64_t> samples, std::span<float> dense_rows,
                      std::span<std::int64_t> id_rows, std::span<float> label_rows) const {
    const auto width = static_cast<std::size_t>(integers);
    const auto id_width = static_cast<std::size_t>(slots);
    if (dense_rows.size() != samples.size() * width || id_rows.size() != samples.size() * id_width ||
        label_rows.size() != samples.size())
        throw Error(fmt::format(
            "a batch of {} samples of {} values and {} ids does not fit buffers of {} "
            "values, {} ids and {} labels",
            samples.size(), width, id_width, dense_rows.size(), id_rows.size(), label_rows.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto sample = static_cast<std::size_t>(samples[i]);
        std::ranges::copy(std::span(dense).subspan(sample * width, width),
                          dense_rows.subspan(i * width).begin());
        std::ranges::copy(std::span(ids).subspan(sample * id_width, id_width),
                          id_rows.subspan(i * id_width).begin());
        label_rows[i] = labels[sample];
    }
}

float damped(double value) {
    return value == 0 ? 0.0F : static_cast<float>(std::copysign(std::log1p(std::abs(value)), value));
}

std::uint64_t text_category(std::string_view text) {
    const bool has_zeros_ahead = text.size() > 1 && text.front() == '0';
    if (const auto number = parse_int<std::uint64_t>(text); number && !has_zeros_ahead) return *number;
    return XXH64(text.data(), text.size(), 0);
}

std::int64_t category_id(std::int64_t slot, std::uint64_t category) {
    return static_cast<std::int64_t>(splitmix_output(category ^ mixed(static_cast<std::uint64_t>(slot))));
}

std::int64_t missing_id(std::int64_t slot) {
    return category_id(slot + (std::int64_t{1} << 32), 0);
}

std::optional<std::string> data::column_count_error(std::int64_t numbers, std::int64_t slots,
                                                    std::string_view noun) {
    if (numbers >= 0 && numbers <= max_click_columns && slots >= 1 && slots <= max_click_columns)
        return std::nullopt;
    return fmt::format("a click log with {} and {}: 0..{} and 1..{} are possible", counted(numbers, noun),
                       counted_categories(slots), max_click_columns, max_click_columns);
}

std::string data::counted_categories(std::int64_t count) {
    return fmt::format("{} {}", count, count == 1 ? "category" : "categories");
}

}  // namespace dtrain
