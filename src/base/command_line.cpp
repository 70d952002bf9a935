// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr double max_grace_seconds = 86400;

/// The choices of a check like CLI::IsMember({"auto", "none"}), whose description is "{auto,none}".
std::vector<std::string> choices_of(const CLI::Option& option) {
    const auto type = option.get_type_name();
    const auto begin = type.find('{'), end = type.rfind('}');
    if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
    return split(type.substr(begin + 1, end - begin - 1), ',');
}

/// --help shows "[PATH|auto]"; the manual itself marks that the value is optional.
std::string value_name(const CLI::Option& option, const std::vector<std::string>& choices) {
    if (!choices.empty()) return join(choices, "|");
    auto name = option.get_option_text();
    if (name.empty()) name = option.get_type_name();
    name = name.substr(0, name.find(':'));
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return name;
}

/// Adds the arguments after the options, which CLI11 does not know.
class UsageFormatter : public CLI::Formatter {
  public:
    explicit UsageFormatter(std::string args) : args_(std::move(args)) {}

    std::string make_usage(const CLI::App*, std::string name) const override {
        return fmt::format("Usage: {} {}\n", name, args_);
    }

  private:
    std::string args_;
};

/// Refuses "--gpus=", which a script produces if its variable is empty: CLI11 would take the next argument as
/// the value.
void refuse_empty_values(const CLI::App& app, const std::vector<std::string>& args) {
    const auto leading = args.begin() + static_cast<std::ptrdiff_t>(count_leading_options(app, args));
    const auto empty = std::find_if(args.begin(), leading, [&](const std::string& arg) {
        return arg.ends_with('=') && arg.find('=') + 1 == arg.size() &&
               app.get_option_no_throw(arg.substr(0, arg.size() - 1)) != nullptr;
    });
    if (empty != leading)
        throw UsageError(fmt::format("{} has no value (is a variable of your script empty?); see {} --help",
                                     *empty, app.get_name()));
}

}  // namespace

std::optional<std::string> parse_args(CLI::App& app, std::vector<std::string> args) {
    refuse_empty_values(app, args);
    try {
        std::reverse(args.begin(), args.end());
        app.parse(std::move(args));
    } catch (const CLI::CallForVersion& version_text) {
        return std::string(version_text.what()) + "\n";
    } catch (const CLI::Success&) {
        return app.help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see {} --help", error.what(), app.get_name()));
    }
    return std::nullopt;
}

std::size_t count_leading_options(const CLI::App& app, const std::vector<std::string>& args) {
    std::size_t count = 0;
    while (count < args.size() && args[count].starts_with('-')) {
        const auto equals = args[count].find('=');
        const auto* option = app.get_option_no_throw(args[count].substr(0, equals));
        if (option == nullptr) break;
        const bool takes_next = equals == std::string::npos && option->get_items_expected_min() > 0;
        count += takes_next ? 2 : 1;
    }
    return std::min(count, args.size());
}

std::optional<std::string> nearest_option(const CLI::App& app, const std::string& arg) {
    std::vector<std::string> names;
    for (const auto* option : app.get_options())
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    return nearest(arg.substr(0, arg.find('=')), names);
}

std::vector<OptionText> option_texts(const CLI::App& app) {
    std::vector<OptionText> texts;
    for (const auto* option : app.get_options()) {
        if (option->get_positional() || option->get_group().empty()) continue;
        OptionText text{.help = option->get_description(), .choices = choices_of(*option)};
        for (const auto& name : option->get_snames()) text.names.push_back("-" + name);
        for (const auto& name : option->get_lnames()) text.names.push_back("--" + name);
        const bool is_flag = option->get_items_expected_max() == 0;
        if (!is_flag || !text.choices.empty()) text.value = value_name(*option, text.choices);
        if (is_flag)
            text.value_is = ValueIs::behind_equals;
        else if (option->get_items_expected_min() == 0)
            text.value_is = ValueIs::optional;
        texts.push_back(std::move(text));
    }
    return texts;
}

std::optional<std::string> parse_leading_options(CLI::App& app, std::vector<std::string> args) {
    app.prefix_command();
    return parse_args(app, std::move(args));
}

void set_usage(CLI::App& app, const std::string& args) {
    app.formatter(std::make_shared<UsageFormatter>(args));
}

void add_grace_option(CLI::App& app, double& seconds, const std::string& group) {
    app.add_option("--grace", seconds, "Seconds between asking a program to stop and killing it")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, max_grace_seconds))
        ->capture_default_str()
        ->group(group);
}

std::chrono::milliseconds grace_of(double seconds) {
    if (!(seconds >= 0 && seconds <= max_grace_seconds))
        throw UsageError(fmt::format("a grace of {} seconds (--grace, DTRAIN_GRACE) is not in 0..{}", seconds,
                                     max_grace_seconds));
    return duration_of("--grace", seconds);
}

std::chrono::milliseconds duration_of(const std::string& option, double seconds) {
    if (std::isnan(seconds))
        throw UsageError(fmt::format("{} nan is no number of seconds; write it like 10 or 0.5", option));
    return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

}  // namespace dtrain
