// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/options/option_table.hpp"

/// torchrun's command line, as dtrain-run takes it. Source of names, defaults and meanings: `torchrun --help`
/// of torch 2.15.
namespace dtrain::launch::torchrun {

/// An option of torchrun. --help, the manual page, shell completion and docs/torchrun.md are generated from
/// these.
struct OptionRow {
    std::string_view name;        ///< "nproc-per-node"; also accepted with '_' for '-'
    std::string_view short_name;  ///< "r", or ""
    std::string_view value;       ///< placeholder in --help; "" for a switch
    std::string_view otherwise;   ///< the value if the option is not given
    std::string_view help;
    Answer answer = Answer::done;
    std::vector<std::string_view> choices;
    std::string_view note;  ///< how dtrain-run differs from torchrun, or why it refuses the option
};

std::span<const OptionRow> option_table();

/// The row of a name with '-' or '_'. @pre there is one
const OptionRow& row_of(std::string_view name);

/// "--nproc-per-node, --nproc_per_node", with the short name first.
std::vector<std::string> spellings(const OptionRow& row);

/// The variable that presets an option: PET_NPROC_PER_NODE.
std::string preset_variable(const OptionRow& row);

}  // namespace dtrain::launch::torchrun
