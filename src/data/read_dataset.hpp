// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include <dtrain/dataset.hpp>

#include "data/text_file.hpp"

/// One reader per format. All throw UsageErrors that name file and location.
namespace dtrain::data {

inline constexpr std::int64_t max_classes = 1'000'000;

Dataset read_hdf5(const DatasetSource& source);
Dataset read_idx(const DatasetSource& source);
Dataset read_csv(const DatasetSource& source);
/// Returns dense samples, with a value for every feature.
Dataset read_svmlight(const DatasetSource& source);

/// The ends of file names by which a format is recognised.
using Endings = std::array<std::string_view, 3>;
inline constexpr Endings svmlight_endings = {".svm", ".svmlight", ".libsvm"};

struct FormatRow {
    DataFormat format = DataFormat::hdf5;
    std::string_view name;         ///< `format` in job files
    std::string_view first_bytes;  ///< every file begins with them; "": not recognised by its content
    Endings endings;               ///< "": none
    Dataset (*read)(const DatasetSource& source);
};

/// Every format: a new one is a reader above and a row. The first is taken for files that no row recognises.
inline constexpr std::array formats = {
    FormatRow{DataFormat::hdf5, "hdf5", "\x89HDF\r\n\x1a\n", {}, read_hdf5},
    FormatRow{DataFormat::idx, "idx", std::string_view("\0\0", 2), {}, read_idx},
    FormatRow{DataFormat::svmlight, "svmlight", "", svmlight_endings, read_svmlight},
    FormatRow{DataFormat::csv, "csv", "", {".csv", ".tsv", ".txt"}, read_csv},
};

/// The row of the source's format if given, else of the one that the file's first bytes, or its name, tell.
const FormatRow& format_of(const DatasetSource& source);

/// Whether a file's name, without `.gz`, ends with one of these, ignoring case; "" is none.
bool name_ends_with(const std::filesystem::path& file, std::span<const std::string_view> endings);

/// Parses a number in a text file, with surrounding blanks, including NaN and infinities; nothing if it is
/// not a number.
std::optional<double> parse_number(std::string_view text);
/// Parses a number and multiplies it by `scale`; throws naming the line if it is not a finite number.
float number_in(const InputFile& file, std::string_view text, float scale = 1);
/// Parses a class number, also written as 1.0; throws naming the line if it is invalid.
std::int64_t label_in(const InputFile& file, std::string_view text, std::int64_t min = 0);

}  // namespace dtrain::data
