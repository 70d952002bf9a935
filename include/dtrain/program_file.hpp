// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <dtrain/program.hpp>

/// Programs as text. The format is JSON, UTF-8:
///
///     {"format": "dtrain program", "version": 1,
///      "variables": [{"name": "x", "type": "float32", "shape": [64, 784], "role": "data"}, ...],
///      "operators": [{"type": "fc", "inputs": [["x", "x"], ["weight", "fc_0.weight"], ...],
///                     "outputs": [["out", "fc_0.out"]], "attributes": {"activation": ""}}, ...]}
///
/// Persistable variables also have an "initializer": {"kind": "uniform", "value": 0.0811}. Inputs and outputs
/// are pairs of slot and variable. Attributes are integers, real numbers (always written with a decimal point
/// or an exponent), strings, or arrays of numbers of one of the two kinds. Parameter values are not included;
/// they are stored in checkpoints.
namespace dtrain {

/// Serialises a program. @throws UsageError if a name is not valid UTF-8 or a number is infinite or NaN
std::string program_text(const Program& program);

/// Parses the output of program_text(); the result compares equal to the original program.
/// @param source name of the text in error messages: the file name
/// @throws UsageError naming the position in the text and what was expected there, or the operator, variable
/// and shapes that do not fit
Program parse_program(std::string_view text, const std::string& source);

/// Writes the file atomically: completely or, if the machine crashes, not at all.
/// @throws UsageError as program_text() does; std::system_error naming the path
void save_program(const Program& program, const std::filesystem::path& path);

/// Reads a program file. @throws UsageError if there is no such file, or as parse_program() does
Program load_program(const std::filesystem::path& path);

}  // namespace dtrain
