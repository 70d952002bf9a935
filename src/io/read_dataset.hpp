// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include <dtrain/dataset.hpp>

#include "io/text_file.hpp"

/// One reader per format. All throw UsageErrors that name file and location.
namespace dtrain::io {

inline constexpr std::int64_t max_classes = 1'000'000;

Dataset read_hdf5(const DatasetSource& source);
Dataset read_idx(const DatasetSource& source);
Dataset read_csv(const DatasetSource& source);
/// Returns dense samples, with a value for every feature.
Dataset read_svmlight(const DatasetSource& source);

/// The source's format if given, else detected from the file.
DataFormat format_of(const DatasetSource& source);

inline constexpr std::array<std::string_view, 3> svmlight_endings = {".svm", ".svmlight", ".libsvm"};

/// Whether a file's name, without `.gz`, ends with one of these, ignoring case.
bool name_ends_with(const std::filesystem::path& file, std::span<const std::string_view> endings);

/// Parses a number in a text file, with surrounding blanks, including NaN and infinities; nothing if it is
/// not a number.
std::optional<double> parse_number(std::string_view text);
/// Parses a number and multiplies it by `scale`; throws naming the line if it is not a finite number.
float number_in(const InputFile& file, std::string_view text, float scale = 1);
/// Parses a class number, also written as 1.0; throws naming the line if it is invalid.
std::int64_t label_in(const InputFile& file, std::string_view text, std::int64_t min = 0);

}  // namespace dtrain::io
