// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/rank_contract.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_args.hpp"
#include "identity/long_value.hpp"
#include "identity/node_fields.hpp"

namespace dtrain::cluster {
namespace {

using Control = RankContract::Control;

/// A value and its text in a variable.
template <class Value>
struct Word {
    std::string_view text;
    Value value;
};

struct TextVariable {
    const char* name;
    std::optional<std::string> RankContract::*field;
};

constexpr const char* events = "DTRAIN_EVENTS";
constexpr const char* send_output = "DTRAIN_TELL_OUTPUT";
constexpr const char* show_by_events = "DTRAIN_SHOW_BY_EVENTS";
constexpr const char* control_by = "DTRAIN_CONTROL";
constexpr const char* bind = "DTRAIN_BIND";
constexpr const char* mode = "DTRAIN_RUN_MODE";
constexpr const char* heartbeat_s = "DTRAIN_HEARTBEAT";
constexpr const char* visible = "DTRAIN_VISIBLE";
constexpr const char* program = "DTRAIN_NODE_PROGRAM";

constexpr std::array yes_or_no{Word<bool>{"1", true}, Word<bool>{"0", false}};
constexpr std::array apply_or_none{Word<bool>{"apply", true}, Word<bool>{"none", false}};
constexpr std::array controls{Word<Control>{"signals", Control::signals},
                              Word<Control>{"stdin", Control::standard_input}};
constexpr std::array texts{TextVariable{"DTRAIN_BACKEND", &RankContract::backend},
                           TextVariable{"DTRAIN_NETWORK_INTERFACE", &RankContract::network_interface},
                           TextVariable{"DTRAIN_GLOO_FS_PATH", &RankContract::gloo_folder},
                           TextVariable{"DTRAIN_POD_NAME", &RankContract::pod_name},
                           TextVariable{"DTRAIN_SELECT", &RankContract::selected_gpus},
                           TextVariable{visible, &RankContract::visible_gpus},
                           TextVariable{"DTRAIN_WORKING_DIR", &RankContract::working_folder},
                           TextVariable{"DTRAIN_MPIRUNS_VARIABLE", &RankContract::mpiruns_variable},
                           TextVariable{"DTRAIN_NODE_WORKING_DIR", &RankContract::node_working_folder},
                           TextVariable{"DTRAIN_NODE_LOG_DIR", &RankContract::node_log_folder}};

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& expected) {
    throw UsageError(
        fmt::format("{}={}: expected {}, as dtrain-launch sets it; unset it", name, value, expected));
}

template <class Value, class Words>
void set_word(Environment& out, const char* name, const std::optional<Value>& value, const Words& words) {
    for (const auto& word : words)
        if (value == word.value) out.set(name, std::string(word.text));
}

template <class Value, class Words>
std::optional<Value> word_in(const Environment& environment, const char* name, const Words& words) {
    const auto text = environment.get(name);
    if (!text || text->empty()) return std::nullopt;
    std::string expected;
    for (const auto& word : words) {
        if (*text == word.text) return word.value;
        expected += fmt::format("{}{}", expected.empty() ? "" : " or ", word.text);
    }
    refuse(name, *text, expected);
}

std::vector<std::string> args_in(const std::string& line) {
    try {
        return shell_args(line);
    } catch (const UsageError& wrong) {
        throw UsageError(fmt::format("{}: {}", program, wrong.what()));
    }
}

}  // namespace

std::optional<std::string> RankContract::visible_gpus_of(int node) const {
    if (!visible_gpus) return std::nullopt;
    return node_field(visible, *visible_gpus, node);
}

void RankContract::write(Environment& environment) const {
    set_word<bool>(environment, events, sends_events, yes_or_no);
    set_word<bool>(environment, send_output, sends_output, yes_or_no);
    set_word<bool>(environment, show_by_events, shows_by_events, yes_or_no);
    set_word<Control>(environment, control_by, control, controls);
    set_word<bool>(environment, bind, binds, apply_or_none);
    set_word<RunMode>(environment, mode, run_mode, run_modes);
    for (const auto& [name, field] : texts)
        if (this->*field) environment.set(name, *(this->*field));
    if (heartbeat) environment.set(heartbeat_s, std::to_string(heartbeat->count()));
    if (torch) torch->write(environment);
    if (node_program) set_long(environment, program, shell_line(*node_program));
}

RankContract RankContract::read(const Environment& environment) {
    RankContract contract{.sends_events = word_in<bool>(environment, events, yes_or_no),
                          .sends_output = word_in<bool>(environment, send_output, yes_or_no),
                          .shows_by_events = word_in<bool>(environment, show_by_events, yes_or_no),
                          .control = word_in<Control>(environment, control_by, controls),
                          .binds = word_in<bool>(environment, bind, apply_or_none),
                          .run_mode = word_in<RunMode>(environment, mode, run_modes)};
    for (const auto& [name, field] : texts) contract.*field = environment.get(name);
    if (const auto seconds = environment.get_int(heartbeat_s))
        contract.heartbeat = std::chrono::seconds(*seconds);
    contract.torch = TorchJob::read(environment);
    if (const auto line = get_long(environment, program)) contract.node_program = args_in(*line);
    return contract;
}

}  // namespace dtrain::cluster
