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
/// Persistable variables have an "initializer" besides: {"kind": "uniform", "value": 0.0811}. Inputs and
/// outputs are pairs of slot and variable. Attributes are whole numbers, real numbers (always written with a
/// point or an exponent), texts or arrays of numbers of one of the two kinds. Parameters' values are not in
/// it; those are in checkpoints.
namespace dtrain {

/// @throws UsageError when a name is no UTF-8 or a number is infinite or none
std::string program_text(const Program& program);

/// The program that program_text() wrote; it compares equal.
/// @param source what error messages call the text: the file's name
/// @throws UsageError naming the place in the text and what was expected there, or the operator, variable and
/// shapes that do not fit
Program parse_program(std::string_view text, const std::string& source);

/// Writes the file whole or, when the machine goes down, not at all.
/// @throws UsageError as program_text() does; std::system_error naming the path
void save_program(const Program& program, const std::filesystem::path& path);

/// @throws UsageError when there is no such file, or as parse_program() does
Program load_program(const std::filesystem::path& path);

}  // namespace dtrain
