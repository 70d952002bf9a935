// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launch/options/options.hpp"

/// Every option that Paddle's launchers or dtrain-launch know, in one place: the command line, --help, the
/// banner, shell completion, the man page and docs/compatibility.md are generated from it.
namespace dtrain::launch {

enum class OptionGroup { base, collective, parameter_server, elastic, dtrain, submit };

/// All groups, in the order of --help.
inline constexpr std::array option_groups{
    OptionGroup::base,    OptionGroup::collective, OptionGroup::parameter_server,
    OptionGroup::elastic, OptionGroup::dtrain,     OptionGroup::submit};

/// "Base Parameters", the heading in --help.
std::string_view to_string(OptionGroup group);

/// Why options and variables for other vendors' devices are refused.
inline constexpr std::string_view no_other_devices = "dtrain drives NVIDIA GPUs and CPUs";

/// How dtrain-launch handles an option.
enum class Answer {
    done,
    no_effect,  ///< accepted without effect, since there is nothing to change
    later,      ///< refused today with one line
    refused,    ///< refused for good, `note` tells why
};

std::string_view to_string(Answer answer);

/// The field of Options that a value is assigned to; none for options that dtrain does not use.
using OptionField =
    std::variant<std::monostate, std::string Options::*, std::optional<std::string> Options::*,
                 int Options::*, std::optional<int> Options::*, bool Options::*,
                 std::chrono::milliseconds Options::*, std::optional<std::uintmax_t> Options::*,
                 std::optional<cluster::HangLimit> Options::*, std::vector<std::string> Options::*,
                 std::optional<RunMode> Options::*, ProgramBackend Options::*, Device::Kind Options::*,
                 VisibleGpus Options::*, Binding Options::*, std::optional<OnHang> Options::*,
                 std::optional<PlanForm> Options::*>;

/// Separates the values of a repeatable option if they are stored as one text.
inline constexpr char between_values = '\x1f';

struct OptionRow {
    std::string_view name;                  ///< without the two dashes; '_' and '-' are equivalent
    std::vector<std::string_view> aliases;  ///< other names of the same option
    OptionGroup group = OptionGroup::base;
    std::string_view value;  ///< placeholder for the value in --help; "" for a switch
    std::string_view help;
    OptionField field;
    int min = 0, max = 2'147'483'647;  ///< limits of a number
    std::vector<std::string_view> choices;
    std::string_view alone;          ///< the value if none is given: --dry-run means --dry-run=table
    std::string_view paddle;         ///< the Paddle releases that have it; "" for dtrain's own options
    std::string_view overridden_by;  ///< variable that overrides the command line, as in Paddle
    std::string_view preset_by;      ///< variable that the command line overrides
    bool in_settings = false;        ///< allowed in /etc/dtrain.toml and ~/.config/dtrain.toml
    Answer answer = Answer::done;
    std::string_view note;  ///< what differs from Paddle, or why it is refused
};

std::span<const OptionRow> option_table();

/// The name, then the aliases.
std::vector<std::string_view> names_of(const OptionRow& row);

/// The row of a name or alias (without dashes), or null.
const OptionRow* find_option(std::string_view name);

/// The value as --help and the banner show it: "None" if there is none.
std::string value_text(const Options& options, const OptionRow& row);

/// Assigns a value to its field.
/// @param source where the user gave it, for the message: "--grace", "PADDLE_NNODES", "/etc/dtrain.toml:
/// grace"
/// @throws UsageError naming source, value and what it should be
void assign(Options& options, const OptionRow& row, const std::string& text, const std::string& source);

}  // namespace dtrain::launch
