// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// A number as text files have them, times `scale`; complains of the line when it is none or not finite.
float number_in(const InputFile& file, std::string_view text, float scale = 1);
/// A class number, also written as 1.0; complains of the line when it is none.
std::int64_t label_in(const InputFile& file, std::string_view text, std::int64_t least = 0);

}  // namespace dtrain::io
