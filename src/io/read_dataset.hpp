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

/// A reader for each format. All throw UsageErrors that name file and place.
namespace dtrain::io {

inline constexpr std::int64_t max_classes = 1'000'000;

Dataset read_hdf5(const DatasetSource& source);
Dataset read_idx(const DatasetSource& source);
Dataset read_csv(const DatasetSource& source);
/// With a value for every feature of every sample.
Dataset read_svmlight(const DatasetSource& source);

/// The source's format, or what the file looks like.
DataFormat format_of(const DatasetSource& source);

inline constexpr std::array<std::string_view, 3> svmlight_endings = {".svm", ".svmlight", ".libsvm"};

/// Whether a file's name, `.gz` left aside, ends with one of them in whatever case.
bool name_ends_with(const std::filesystem::path& file, std::span<const std::string_view> endings);

/// A number as text files have them, blanks around it, NaN and infinities too; nothing when the text is none.
std::optional<double> parse_number(std::string_view text);
/// A number as text files have them, times `scale`; complains of the line when it is none or not finite.
float number_in(const InputFile& file, std::string_view text, float scale = 1);
/// A class number, also written as 1.0; complains of the line when it is none.
std::int64_t label_in(const InputFile& file, std::string_view text, std::int64_t min = 0);

}  // namespace dtrain::io
