// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/options.hpp"

#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"
#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/paddle_cloud.hpp"
#include "launch/options/command_table.hpp"
#include "launch/options/option_table.hpp"
#include "launch/options/server_options.hpp"
#include "launch/options/shell_completion.hpp"

namespace dtrain::launch {
namespace {

std::string footer() {
    std::string out =
        "After the options come the training script (.py, .toml or a program) and the script's own "
        "arguments.\n\n"
        "Examples:\n";
    for (const auto& line : split(trimmed(program_examples), '\n')) out += fmt::format("  {}\n", line);
    out += "\nJobs that exist, and what belongs to them:\n";
    for (const auto& row : command_table())
        out += fmt::format("  dtrain-launch {} {}\n      {}\n", row.name, row.arguments, row.help);
    out.pop_back();
    return out;
}

std::string typed(const OptionRow& row) {
    return "--" + std::string(row.name);
}

bool is_switch(const OptionRow& row) {
    return row.value.empty();
}

bool stands_alone(const OptionRow& row) {
    return is_switch(row) || !row.alone.empty();
}

bool is_bool_arg(const std::string& typed_arg) {
    const auto arg = lower_case(typed_arg);
    return arg == "true" || arg == "false" || arg == "0" || arg == "1";
}

/// The arguments with aliases replaced by the options' names, and a switch and its value ("--log_overwrite
/// True", as in Paddle) joined into one argument. Arguments from the script on are unchanged.
std::vector<std::string> with_own_names(const std::vector<std::string>& args) {
    std::vector<std::string> out;
    auto arg = args.begin();
    for (; arg != args.end() && arg->starts_with("--") && *arg != "--"; ++arg) {
        const auto equals = arg->find('=');
        const auto* row = find_option(
            std::string_view(*arg).substr(2, equals == std::string::npos ? std::string::npos : equals - 2));
        if (row == nullptr) {
            if (*arg == "--help" || *arg == "--version") {
                out.push_back(*arg);
                continue;
            }
            break;
        }
        const auto next = std::next(arg);
        if (equals != std::string::npos) {
            out.push_back(typed(*row) + arg->substr(equals));
        } else if (is_switch(*row) && next != args.end() && is_bool_arg(*next)) {
            out.push_back(typed(*row) + "=" + *next);
            ++arg;
        } else {
            out.push_back(typed(*row));
            if (stands_alone(*row) || next == args.end()) continue;
            out.push_back(*next);
            ++arg;
        }
    }
    out.insert(out.end(), arg, args.end());
    return out;
}

[[noreturn]] void refuse_unknown(const std::string& arg) {
    const auto name = arg.substr(0, arg.find('='));
    std::vector<std::string> known{"--help", "--version"};
    for (const auto& row : option_table())
        for (const auto& each : names_of(row)) known.push_back("--" + std::string(each));
    const auto near = nearest(name, known);
    throw UsageError(
        fmt::format("unknown option \"{}\"{}; options of the script go behind it; see dtrain-launch --help",
                    name, near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

void refuse_unanswered(const OptionRow& row, const std::string& value) {
    if (row.answer == Answer::later || row.answer == Answer::refused)
        throw UsageError(fmt::format("{} {} is {}: {}", typed(row), value.empty() ? "\"\"" : value,
                                     row.answer == Answer::later ? "not there yet" : "refused", row.note));
}

std::string help_text(const OptionRow& row) {
    std::string text(row.help);
    if (!row.aliases.empty()) text += fmt::format(" (also --{})", fmt::join(row.aliases, ", --"));
    const auto otherwise = value_text(Options{}, row);
    if (!is_switch(row) && !otherwise.empty() && otherwise != "None") text += fmt::format(" [{}]", otherwise);
    return text;
}

/// The options given on the command line, by row.
class Typed {
  public:
    explicit Typed(const std::vector<std::string>& arguments) {
        const std::string base(to_string(OptionGroup::base));
        set_usage(app_, "[options] script [script options]");
        app_.footer(footer());
        app_.get_formatter()->column_width(32);
        app_.set_version_flag("--version", std::string("dtrain ") + version)->group(base);
        app_.set_help_flag("-h,--help", "Print this and exit")->group(base);
        values_.resize(option_table().size());
        for (std::size_t index = 0; index < values_.size(); ++index)
            add(option_table()[index], values_[index]);
        text_ = parse_leading_options(app_, with_own_names(arguments));
    }

    const std::optional<std::string>& text() const { return text_; }
    bool has(const OptionRow& row) const { return app_.get_option(typed(row))->count() > 0; }
    const std::string& value(const OptionRow& row) const {
        return values_[static_cast<std::size_t>(&row - option_table().data())];
    }

    /// @param optional whether the options are valid without a script
    std::vector<std::string> script_and_arguments(bool optional) const {
        auto rest = app_.remaining();
        if (!rest.empty() && rest.front() == "--")
            rest.erase(rest.begin());
        else if (!rest.empty() && rest.front().starts_with("-"))
            refuse_unknown(rest.front());
        if (rest.empty() && !optional)
            throw UsageError("no training script; write dtrain-launch [options] script.py [script options]");
        return rest;
    }

  private:
    void add(const OptionRow& row, std::string& value) {
        const auto alone = is_switch(row) ? std::string() : fmt::format("{{{}}}", row.alone);
        auto* option =
            stands_alone(row)
                ? app_.add_flag(typed(row) + alone, value, help_text(row))
                : app_.add_option(typed(row), value, help_text(row))->type_name(std::string(row.value));
        const bool usable = row.answer == Answer::done;
        if (std::holds_alternative<std::vector<std::string> Options::*>(row.field))
            option->join(between_values);
        else
            option->take_last();
        option->group(usable ? std::string(to_string(row.group)) : std::string());
    }

    CLI::App app_{std::string(program_description), "dtrain-launch"};
    std::vector<std::string> values_;
    std::optional<std::string> text_;
};

/// Assigns values from sources of increasing priority to the options.
class Layers {
  public:
    Layers(ParsedOptions& out, const Environment& environment) : out_(out), environment_(environment) {}

    void settings(const std::vector<Setting>& settings) {
        for (const auto& setting : settings) {
            const auto* row = find_option(setting.name);
            if (row == nullptr || !row->in_settings) refuse_setting(setting);
            put(*row, setting.value, fmt::format("{}: {} =", setting.origin, setting.name), setting.origin);
        }
    }

    void presets() {
        for (const auto& row : option_table())
            if (const auto value =
                    describes_another_job(row.preset_by) ? std::nullopt : variable(row.preset_by))
                put(row, *value, std::string(row.preset_by) + "=", std::string(row.preset_by));
    }

    void command_line(const Typed& typed_options) {
        for (const auto& row : option_table()) {
            if (!typed_options.has(row)) continue;
            refuse_unanswered(row, typed_options.value(row));
            if (row.answer == Answer::no_effect)
                out_.notices.push_back(fmt::format("{} has no effect: {}", typed(row), row.note));
            put(row, typed_options.value(row), typed(row), "command line");
        }
    }

    void overrides() {
        if (environment_.has("DTRAIN_JOB_TOKEN")) return;
        for (const auto& row : option_table()) {
            const auto value = variable(row.overridden_by);
            if (!value || row.answer != Answer::done) continue;
            const auto before = out_.options;
            put(row, *value, std::string(row.overridden_by) + "=", std::string(row.overridden_by));
            if (!(out_.options == before))
                out_.notices.push_back(fmt::format("args {} will be overridden by env: {} value: {}",
                                                   row.name, row.overridden_by, *value));
        }
        nodes_by_endpoints();
    }

  private:
    std::optional<std::string> variable(std::string_view name) const {
        const auto value = name.empty() ? std::nullopt : environment_.get(name);
        return value && !value->empty() ? value : std::nullopt;
    }

    /// Takes the nodes from the addresses of all ranks, which a Kubernetes operator gives each pod.
    void nodes_by_endpoints() {
        if (environment_.has("PADDLE_TRAINERS")) return;  // PaddleCloud, which names its nodes in another way
        if (out_.options.elastic_server || out_.options.master.value_or("").starts_with("etcd://")) return;
        for (const char* name : {"DISTRIBUTED_TRAINER_ENDPOINTS", "PADDLE_TRAINER_ENDPOINTS"}) {
            const auto list = variable(name);
            if (!list) continue;
            std::vector<std::string> hosts;
            for (const auto& part : split(*list, ',')) {
                const auto host = cluster::parse_address_of(name, *list, part).host;
                if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
            }
            // Otherwise the endpoints are left over from another job.
            if (hosts.size() == 1 || !out_.options.host ||
                std::find(hosts.begin(), hosts.end(), *out_.options.host) == hosts.end())
                return;
            put(*find_option("ips"), join(hosts, ","), std::string(name) + "=", name);
            out_.notices.push_back(fmt::format("args reset by env {}: --ips {}", name, join(hosts, ",")));
            return;
        }
    }

    /// Inside a rank of a job, Paddle's variables describe that job.
    bool describes_another_job(std::string_view name) const {
        return environment_.has("DTRAIN_JOB_TOKEN") && !name.starts_with("DTRAIN") &&
               !name.starts_with("FLAGS");
    }

    void put(const OptionRow& row, const std::string& value, const std::string& source,
             const std::string& origin) {
        assign(out_.options, row, value, source);
        out_.origins[std::string(row.name)] = origin;
    }

    [[noreturn]] static void refuse_setting(const Setting& setting) {
        std::vector<std::string> known;
        for (const auto& row : option_table())
            if (row.in_settings) known.emplace_back(row.name);
        const auto near = nearest(setting.name, known);
        throw UsageError(fmt::format("{}: unknown setting \"{}\"{}; known are {}", setting.origin,
                                     setting.name, near ? fmt::format(" (did you mean {}?)", *near) : "",
                                     join(known, ", ")));
    }

    ParsedOptions& out_;
    const Environment& environment_;
};

/// Every option with its value and the value's origin.
std::string info_text(const ParsedOptions& parsed) {
    std::string out = fmt::format("{:<20} {:<24} {}\n", "option", "value", "from");
    for (const auto& row : option_table()) {
        if (row.field.index() == 0) continue;
        const auto origin = parsed.origins.find(std::string(row.name));
        auto value = value_text(parsed.options, row);
        if (value.empty()) value = "-";
        out += fmt::format("{:<20} {:<24} {}\n", row.name, value,
                           origin == parsed.origins.end() ? "default" : origin->second);
    }
    return out;
}

std::optional<std::string> text_asked_for(const Typed& typed_options, const ParsedOptions& parsed) {
    const auto has = [&](std::string_view name) { return typed_options.has(*find_option(name)); };
    if (has("print-completion")) {
        const auto& shell = typed_options.value(*find_option("print-completion"));
        if (shell != "bash" && shell != "zsh")
            throw UsageError(fmt::format("--print-completion {}: it must be bash or zsh", shell));
        return completion_script(shell);
    }
    if (has("print-man")) return manual_page();
    if (has("info")) return info_text(parsed);
    return std::nullopt;
}

/// Options of dtrain-launch among the script's arguments; the script may have options of the same names.
/// Those that were also given before the script are meant for both.
std::vector<std::string> options_behind_script(const Options& options, const Typed& typed_options) {
    const bool is_job_file = options.script.ends_with(".toml");
    std::vector<std::string> out;
    for (const auto& arg : options.script_arguments) {
        if (!arg.starts_with("--")) continue;
        const auto name = arg.substr(0, arg.find('='));
        const auto* row = name.size() > 2 ? find_option(std::string_view(name).substr(2)) : nullptr;
        if (row == nullptr || typed_options.has(*row)) continue;
        if (is_job_file && name == "--report") continue;
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
    return out;
}

std::vector<std::string> hints_about(const Options& options, const Typed& typed_options) {
    const auto names = options_behind_script(options, typed_options);
    if (names.empty()) return {};
    const auto script = std::filesystem::path(options.script).filename().string();
    return {fmt::format("{0} behind {1} {2} given to {1}; if dtrain-launch was meant, put {3} before {1}",
                        join(names, ", "), script, names.size() == 1 ? "is" : "are",
                        names.size() == 1 ? "it" : "them")};
}

/// The handbook's first spelling (Paddle 1.x): with PADDLE_NUM_TRAINERS set, logs go to ./mylog.
void apply_handbook_spelling(ParsedOptions& parsed, const Environment& environment) {
    if (environment.has("PADDLE_NUM_TRAINERS") && !parsed.origins.contains("log_dir")) {
        parsed.options.log_dir = "mylog";
        parsed.origins["log_dir"] = "PADDLE_NUM_TRAINERS";
    }
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment,
                            const std::vector<Setting>& settings) {
    ParsedOptions parsed;
    const Typed typed_options(arguments);
    parsed.text = typed_options.text();
    if (parsed.text) return parsed;

    Layers layers(parsed, environment);
    layers.settings(settings);
    layers.presets();
    layers.command_line(typed_options);
    layers.overrides();
    apply_handbook_spelling(parsed, environment);
    parsed.text = text_asked_for(typed_options, parsed);
    if (parsed.text) return parsed;

    if (has_one_server_and_worker(parsed.options)) {
        parsed.options.server_num = parsed.options.worker_num = 1;
        for (const char* name : {"server_num", "worker_num"}) parsed.origins[name] = "--run_mode ps";
    }
    const auto args = typed_options.script_and_arguments(parsed.options.scale || parsed.options.check);
    if (args.empty()) return parsed;
    parsed.options.script = args.front();
    parsed.options.script_arguments.assign(args.begin() + 1, args.end());
    parsed.hints = hints_about(parsed.options, typed_options);
    return parsed;
}

Options options_of(const std::vector<Setting>& settings) {
    ParsedOptions out;
    const Environment none;
    Layers(out, none).settings(settings);
    return std::move(out.options);
}

}  // namespace dtrain::launch
