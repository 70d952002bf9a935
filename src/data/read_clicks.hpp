// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/click_log.hpp>

#include "data/click_stream.hpp"

/// Helpers shared by the readers of click logs.
namespace dtrain::data {

std::unique_ptr<ClickStream> stream_clicks(const std::filesystem::path& file, const ClickColumns& columns);
std::unique_ptr<ClickStream> stream_clicks(const std::filesystem::path& file, const CsvClickColumns& columns);
std::unique_ptr<ClickStream> stream_clicks(const std::filesystem::path& file,
                                           const SvmlightClickColumns& columns);

CsvClickColumns columns_in(const std::filesystem::path& log, const CsvClickColumns& columns);
SvmlightClickColumns columns_in(const std::filesystem::path& log, const SvmlightClickColumns& columns);

/// An error message if the numbers of columns are out of range; allowed are 0..max_click_columns numbers and
/// 1..max_click_columns slots.
/// @param noun word for a number in the message
std::optional<std::string> column_count_error(std::int64_t numbers, std::int64_t slots,
                                              std::string_view noun = "number");

/// "1 category", "26 categories".
std::string counted_categories(std::int64_t count);

}  // namespace dtrain::data
