// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/rank_error.hpp"

/// The file in which the program of a rank leaves why it fails.
namespace dtrain {

/// Its variable for dtrain's own library.
inline constexpr const char* error_file_variable = "DTRAIN_ERROR_FILE";
/// Its variable for torch's @record.
inline constexpr const char* torch_error_file_variable = "TORCHELASTIC_ERROR_FILE";

/// Leaves the error in the file that DTRAIN_ERROR_FILE names, or TORCHELASTIC_ERROR_FILE; without both, and
/// if the file cannot be written, does nothing. Secrets of known formats are hidden. An error that this
/// process has already left there stays: what comes after it is its consequence.
void report_error(RankError error);

struct ErrorFileContent {
    std::optional<RankError> error;
    std::string issue;  ///< why what is there cannot be read; "" if it can, or if nothing is there
};

/// What the file tells. Whatever is in its place, does not block, and follows no link.
ErrorFileContent read_error_file(const std::filesystem::path& file);

}  // namespace dtrain
