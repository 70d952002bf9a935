// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/torchrun/run_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"
#include "base/completion.hpp"
#include "base/manual_page.hpp"
#include "base/text.hpp"
#include "launch/torchrun/option_table.hpp"

namespace dtrain::launch::torchrun {
namespace {

constexpr const char* program = "dtrain-run";
constexpr const char* description =
    "Starts a Python script once for each rank, as torchrun does, through mpirun.";
constexpr const char* examples = R"(dtrain-run --nproc-per-node 4 train.py --lr 0.1
dtrain-run --standalone --nproc-per-node gpu -m package.train
dtrain-run --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint node0:29400 --rdzv-id 7 train.py
)";
constexpr int highest_port = 65535;
constexpr std::array shells{"bash", "zsh"};

[[noreturn]] void refuse(const std::string& option, const std::string& value, const std::string& wanted) {
    throw UsageError(fmt::format("{} {}: it must be {}; see dtrain-run --help", option,
                                 value.empty() ? "\"\"" : value, wanted));
}

std::string help_text(const OptionRow& row) {
    std::string out(row.help);
    if (!row.otherwise.empty()) out += fmt::format(" [{}]", row.otherwise);
    if (row.answer == Answer::no_effect) out += " (no effect)";
    return out;
}

/// The options given on the command line or preset by variables, as texts.
class Given {
  public:
    Given(const std::vector<std::string>& arguments, const Environment& environment)
        : environment_(environment), values_(option_table().size()) {
        set_usage(app_, "[options] script [script options]");
        app_.footer(fmt::format("Examples:\n  {}", join(split(trimmed(examples), '\n'), "\n  ")));
        app_.get_formatter()->column_width(36);
        app_.set_version_flag("--version", std::string("dtrain ") + version);
        for (std::size_t index = 0; index < values_.size(); ++index)
            add(option_table()[index], values_[index]);
        app_.add_option("--print-completion,--print_completion", shell_, "Print a completion script")
            ->check(CLI::IsMember(shells));
        app_.add_flag("--print-man", manual_, "Print the manual page");
        text_ = parse_leading_options(app_, arguments);
    }

    std::optional<std::string> text() const {
        if (text_) return text_;
        if (!shell_.empty()) return run_completion_script(shell_);
        if (manual_) return run_manual_page();
        return std::nullopt;
    }

    const CLI::App& app() const { return app_; }

    bool on_command_line(std::string_view name) const { return option(row_of(name))->count() > 0; }
    bool is_given(std::string_view name) const { return on_command_line(name) || preset(row_of(name)); }

    /// @return the default if it is not given
    std::string value(std::string_view name) const {
        const auto& row = row_of(name);
        if (on_command_line(name)) return values_[static_cast<std::size_t>(&row - option_table().data())];
        return preset(row).value_or(std::string(row.otherwise));
    }

    bool flag(std::string_view name) const {
        const auto& row = row_of(name);
        if (on_command_line(name)) return true;
        const auto preset_value = preset(row);
        if (!preset_value) return false;
        const auto number = parse_int(*preset_value);
        if (!number) refuse(preset_variable(row) + "=", *preset_value, "0 or 1");
        return *number != 0;
    }

    int number(std::string_view name, int min, int max = 1'000'000) const {
        const auto text = value(name);
        const auto number = parse_int(trimmed(text));
        if (!number || *number < min || *number > max)
            refuse(source(name), text, fmt::format("a whole number in {}..{}", min, max));
        return *number;
    }

    double seconds(std::string_view name) const {
        const auto text = value(name);
        char* end = nullptr;
        const double out = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(out >= 0 && out <= 864000))
            refuse(source(name), text, "a number of seconds in 0..864000");
        return out;
    }

    /// Where the value comes from, for messages: "--nnodes", "PET_NNODES=".
    std::string source(std::string_view name) const {
        const auto& row = row_of(name);
        return on_command_line(name) || !preset(row) ? "--" + std::string(row.name)
                                                     : preset_variable(row) + "=";
    }

    std::vector<std::string> script_and_arguments() const {
        auto rest = app_.remaining();
        if (!rest.empty() && rest.front() == "--") {
            rest.erase(rest.begin());
        } else if (!rest.empty() && rest.front().starts_with("-")) {
            const auto near = nearest_option(app_, rest.front());
            throw UsageError(
                fmt::format("unknown option \"{}\"{}; options of the script go behind it; see "
                            "dtrain-run --help",
                            rest.front().substr(0, rest.front().find('=')),
                            near ? fmt::format(" (did you mean {}?)", *near) : ""));
        }
        if (rest.empty())
            throw UsageError("no training script; write dtrain-run [options] script.py [script options]");
        return rest;
    }

  private:
    void add(const OptionRow& row, std::string& value) {
        const auto names = join(spellings(row), ",");
        auto* option = row.value.empty()
                           ? app_.add_flag(names, value, help_text(row))
                           : app_.add_option(names, value, help_text(row))->type_name(std::string(row.value));
        option->take_last();
        if (row.answer == Answer::refused) option->group("");
    }

    const CLI::Option* option(const OptionRow& row) const {
        return app_.get_option("--" + std::string(row.name));
    }

    std::optional<std::string> preset(const OptionRow& row) const {
        const auto value = environment_.get(preset_variable(row));
        return value && !value->empty() ? value : std::nullopt;
    }

    const Environment& environment_;
    CLI::App app_{description, program};
    std::vector<std::string> values_;
    std::string shell_;
    bool manual_ = false;
    std::optional<std::string> text_;
};

void refuse_unsupported(const Given& given) {
    for (const auto& row : option_table()) {
        if (!given.is_given(row.name)) continue;
        const auto value = given.value(row.name);
        // torchrun's own default may be written down.
        if (row.answer == Answer::refused && value != row.otherwise)
            throw UsageError(fmt::format("{} {} is refused: {}", given.source(row.name), value, row.note));
        if (!row.choices.empty() &&
            std::find(row.choices.begin(), row.choices.end(), value) == row.choices.end())
            refuse(given.source(row.name), value, fmt::format("one of {}", fmt::join(row.choices, ", ")));
    }
}

void read_nodes(const Given& given, RunOptions& out) {
    const auto text = given.value("nnodes");
    const auto parts = split(text, ':');
    const auto min = parse_int(trimmed(parts.front()));
    const auto max = parse_int(trimmed(parts.back()));
    if (parts.size() > 2 || !min || !max || *min < 1 || *max < *min)
        refuse(given.source("nnodes"), text, "a number of nodes, or MIN:MAX with MIN of at least 1");
    out.min_nodes = *min;
    out.max_nodes = *max;
}

void read_processes(const Given& given, RunOptions& out) {
    using Processes = RunOptions::Processes;
    constexpr std::array words{std::pair{"auto", Processes::one_per_gpu_or_cpu},
                               std::pair{"gpu", Processes::one_per_gpu},
                               std::pair{"cpu", Processes::one_per_cpu}};
    const auto text = given.value("nproc-per-node");
    for (const auto& [word, processes] : words)
        if (text == word) {
            out.processes = processes;
            return;
        }
    const auto number = parse_int(trimmed(text));
    if (!number || *number < 1 || *number > 65536)
        refuse(given.source("nproc-per-node"), text, "auto, gpu, cpu or a whole number in 1..65536");
    out.nproc_per_node = *number;
}

RunOptions::Backend backend_of(const Given& given) {
    const auto text = given.value("rdzv-backend");
    if (text == "static") return RunOptions::Backend::fixed;
    if (text == "c10d") return RunOptions::Backend::c10d;
    if (text == "etcd" || text == "etcd-v2") return RunOptions::Backend::etcd;
    refuse(given.source("rdzv-backend"), text, "static, c10d, etcd or etcd-v2");
}

/// "timeout=900,read_timeout=60".
std::optional<std::chrono::milliseconds> join_timeout_of(const Given& given) {
    const auto text = given.value("rdzv-conf");
    std::optional<std::chrono::milliseconds> out;
    if (trimmed(text).empty()) return out;
    for (const auto& part : split(text, ',')) {
        const auto equals = part.find('=');
        const auto key = trimmed(std::string_view(part).substr(0, equals));
        const auto value =
            equals == std::string::npos ? "" : trimmed(std::string_view(part).substr(equals + 1));
        if (key.empty() || value.empty())
            refuse(given.source("rdzv-conf"), text, "KEY=VALUE pairs separated by commas");
        if (key != "timeout" && key != "join_timeout") continue;
        const auto seconds = parse_int(value);
        if (!seconds || *seconds < 0 || *seconds > 864000)
            refuse(given.source("rdzv-conf"), text, fmt::format("{} in seconds, 0..864000", key));
        out = std::chrono::seconds(*seconds);
    }
    return out;
}

cluster::StreamChoice streams_of(const Given& given, std::string_view name) {
    try {
        return cluster::StreamChoice::parse(given.value(name));
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: {}", given.source(name), error.what()));
    }
}

/// Single ranks, of which torchrun knows no ranges.
cluster::RankList ranks_of(const Given& given) {
    const auto text = given.value("local-ranks-filter");
    if (text.empty()) return cluster::RankList::all();
    std::vector<std::string> ranks;
    for (const auto& part : split(text, ',')) {
        const auto rank = parse_int(trimmed(part));
        if (!rank || *rank < 0)
            refuse(given.source("local-ranks-filter"), text, "local ranks separated by commas, such as 0,1");
        ranks.push_back(std::to_string(*rank));
    }
    return cluster::RankList::parse(join(ranks, ","));
}

std::chrono::milliseconds shutdown_timeout_of(const Given& given, const Environment& environment) {
    constexpr const char* torchs_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
    if (given.is_given("shutdown-timeout"))
        return std::chrono::milliseconds(static_cast<long>(given.seconds("shutdown-timeout") * 1000));
    if (const auto seconds = environment.get_int(torchs_variable)) return std::chrono::seconds(*seconds);
    return RunOptions().shutdown_timeout;
}

std::vector<std::string> notices_about(const Given& given, const RunOptions& options) {
    std::vector<std::string> out;
    for (const auto& row : option_table())
        if (row.answer == Answer::no_effect && given.on_command_line(row.name) &&
            given.value(row.name) != row.otherwise)
            out.push_back(fmt::format("--{} has no effect: {}", row.name, row.note));
    const auto unused = [&](std::string_view name, const char* where) {
        if (given.on_command_line(name)) out.push_back(fmt::format("--{} counts only {}", name, where));
    };
    if (options.standalone) {
        for (const auto* name : {"nnodes", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "node-rank",
                                 "master-addr", "master-port"})
            if (given.on_command_line(name) && given.value(name) != row_of(name).otherwise)
                unused(name, "without --standalone");
    } else if (options.backend != RunOptions::Backend::fixed) {
        for (const auto* name : {"node-rank", "master-addr", "master-port"})
            unused(name, "with --rdzv-backend static");
    }
    return out;
}

std::vector<OptionText> option_texts() {
    std::vector<OptionText> out{{.names = {"-h", "--help"}, .help = "Print the options and exit"},
                                {.names = {"--version"}, .help = "Print the version and exit"}};
    for (const auto& row : option_table()) {
        if (row.answer == Answer::refused) continue;
        out.push_back({.names = spellings(row),
                       .value = std::string(row.value),
                       .help = help_text(row),
                       .choices = {row.choices.begin(), row.choices.end()}});
    }
    out.push_back({.names = {"--print-completion", "--print_completion"},
                   .value = "SHELL",
                   .help = "Print a completion script",
                   .choices = {shells.begin(), shells.end()}});
    out.push_back({.names = {"--print-man"}, .help = "Print the manual page"});
    return out;
}

}  // namespace

ParsedRun parse_run_options(const std::vector<std::string>& arguments, const Environment& environment) {
    const Given given(arguments, environment);
    ParsedRun parsed;
    parsed.text = given.text();
    if (parsed.text) return parsed;
    refuse_unsupported(given);
    auto& out = parsed.options;
    read_nodes(given, out);
    read_processes(given, out);
    out.backend = backend_of(given);
    out.endpoint = given.value("rdzv-endpoint");
    out.id = given.value("rdzv-id");
    out.join_timeout = join_timeout_of(given);
    out.standalone = given.flag("standalone");
    out.max_restarts = given.number("max-restarts", 0);
    given.seconds("monitor-interval");
    out.role = given.value("role");
    out.module = given.flag("module");
    out.no_python = given.flag("no-python");
    out.run_path = given.flag("run-path");
    if (out.module && out.no_python && !out.run_path)
        throw UsageError("--no-python and --module contradict each other: remove one of them");
    out.log_dir = given.value("log-dir");
    out.redirects = streams_of(given, "redirects");
    out.tee = streams_of(given, "tee");
    if (given.is_given("log-line-prefix-template"))
        out.line_prefix = given.value("log-line-prefix-template");
    else if (const auto prefix = environment.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"))
        out.line_prefix = *prefix;
    out.shown_local_ranks = ranks_of(given);
    out.node_rank = given.number("node-rank", 0);
    out.master_addr = given.value("master-addr");
    if (given.is_given("master-port")) out.master_port = given.number("master-port", 0, highest_port);
    if (given.is_given("local-addr")) out.local_addr = given.value("local-addr");
    out.shutdown_timeout = shutdown_timeout_of(given, environment);
    out.virtual_local_rank = given.flag("virtual-local-rank");
    if (out.standalone) out.min_nodes = out.max_nodes = 1;
    auto words = given.script_and_arguments();
    out.script = words.front();
    out.script_arguments.assign(words.begin() + 1, words.end());
    parsed.notices = notices_about(given, out);
    return parsed;
}

std::string run_completion_script(const std::string& shell) {
    return dtrain::completion_script(
        {.programs = {program}, .options = option_texts(), .args = "training script and its arguments"},
        shell);
}

std::string run_manual_page() {
    return roff_of(
        {.programs = {program},
         .summary = "start a Python script on every rank, with torchrun's options",
         .synopsis = {"[options] script [script options]"},
         .description = std::string(description) +
                        " Options end at the first word that is none; everything behind it belongs to the "
                        "script. Variables PET_NNODES, PET_NPROC_PER_NODE and so on preset options.",
         .sections = {{"Options", option_texts()}},
         .examples = examples,
         .paragraphs = {{"EXIT STATUS",
                         "0 when every rank ended with 0; else that of the rank that failed first (128 + n "
                         "for signal n); 2 when the command line is wrong, and then nothing was started."}},
         .see_also = {"dtrain-launch", "mpirun"}});
}

}  // namespace dtrain::launch::torchrun
