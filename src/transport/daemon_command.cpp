// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/daemon_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_args.hpp"
#include "base/text.hpp"

namespace dtrain::transport {
namespace {

constexpr std::array<std::string_view, 6> assignable{"PATH",        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
                                                     "OPAL_PREFIX", "PRTE_PREFIX",     "PMIX_PREFIX"};
constexpr std::array<std::string_view, 2> daemons{"orted", "prted"};
constexpr std::array<std::string_view, 5> parameter_options{"-mca", "--mca", "--prtemca", "--pmixmca",
                                                            "--gpmixmca"};
constexpr std::array<std::string_view, 6> switches{
    "--leave-session-attached", "--allow-run-as-root",  "--tree-spawn",
    "--debug-daemons",          "--debug-daemons-file", "--debug"};

// Open MPI 4.1 wraps the command in this if the login shell is sh or ksh.
constexpr std::string_view profile_begin = "( test ! -r ./.profile || . ./.profile;";
constexpr std::string_view profile_end = ")";

template <class List>
bool among(const List& list, std::string_view arg) {
    return std::find(list.begin(), list.end(), arg) != list.end();
}

[[noreturn]] void refuse(const std::string& what, std::string_view line) {
    throw UsageError(
        fmt::format("mpirun's command for this node has {}; only Open MPI's own daemon is started here: {}",
                    what, one_line(line, 300)));
}

/// Splits a line at semicolons that are not quoted.
std::vector<std::string> statements(std::string_view line) {
    std::vector<std::string> out(1);
    char quote = 0;
    bool escaped = false;
    for (const char c : line) {
        if (!escaped && quote == 0 && c == ';') {
            out.emplace_back();
            continue;
        }
        out.back().push_back(c);
        if (escaped)
            escaped = false;
        else if (c == '\\' && quote != '\'')
            escaped = true;
        else if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
    }
    return out;
}

/// Refuses characters that a shell would interpret if unquoted and, for `$` and backquotes, also in double
/// quotes. The daemon's options need none of them.
void refuse_operators(std::string_view statement, std::string_view line) {
    char quote = 0;
    for (const char c : statement) {
        const bool always = c == '`' || c == '$' || c == '\\' || c == '\n' || c == '\r' || c == '\0';
        const bool bare = quote == 0 && std::string_view("|&<>()*?[]{}~#!").find(c) != std::string_view::npos;
        if ((always && quote != '\'') || bare || c == '\0')
            refuse(fmt::format("the character '{}'", one_line(std::string_view(&c, 1))), line);
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
    }
}

bool is_path_list(std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("_./:+@%,=-~").find(c) != std::string_view::npos;
    });
}

/// The value, with a reference to the variable itself at its end expanded.
std::string expanded(const std::string& name, std::string_view value, const std::string& before,
                     std::string_view line) {
    for (const auto& reference : {"${" + name + ":-}", "${" + name + "}", "$" + name})
        if (value.ends_with(reference)) {
            value.remove_suffix(reference.size());
            if (!is_path_list(value)) break;
            return std::string(value) + before;
        }
    if (!is_path_list(value)) refuse(fmt::format("the value {}", value), line);
    return std::string(value);
}

class Parser {
  public:
    Parser(std::string_view line, const Environment& environment) : line_(line), environment_(environment) {}

    DaemonCommand parse() {
        auto parts = statements(without_profile());
        const auto last = std::string(trimmed(parts.back()));
        parts.pop_back();
        for (const auto& part : parts) take_statement(trimmed(part));
        take_daemon(last);
        return std::move(out_);
    }

  private:
    std::string_view without_profile() const {
        auto text = trimmed(line_);
        if (!text.starts_with(profile_begin) || !text.ends_with(profile_end)) return text;
        text.remove_prefix(profile_begin.size());
        text.remove_suffix(profile_end.size());
        return text;
    }

    void take_statement(std::string_view statement) {
        constexpr std::string_view export_arg = "export ";
        if (statement.starts_with(export_arg)) {
            const std::string name(trimmed(statement.substr(export_arg.size())));
            if (!out_.assignments.has(name)) refuse(fmt::format("an export of {}", name), line_);
            return;
        }
        const auto equals = statement.find('=');
        const std::string name(statement.substr(0, equals));
        if (equals == std::string_view::npos || !among(assignable, name))
            refuse(fmt::format("\"{}\"", one_line(statement, 100)), line_);
        out_.assignments.set(
            name, expanded(name, statement.substr(equals + 1), environment_.get_or(name, ""), line_));
    }

    void take_daemon(std::string_view statement) {
        refuse_operators(statement, line_);
        auto args = shell_args(statement);
        if (args.empty()) refuse("no program", line_);
        out_.program = args.front();
        args.erase(args.begin());
        if (!among(daemons, std::filesystem::path(out_.program).filename().string()))
            refuse(fmt::format("the program {}", out_.program), line_);
        check_arguments(args);
        out_.arguments = std::move(args);
    }

    void check_arguments(const std::vector<std::string>& args) const {
        for (std::size_t i = 0; i < args.size(); ++i) {
            if (among(switches, args[i])) continue;
            if (!among(parameter_options, args[i]) || i + 2 >= args.size())
                refuse(fmt::format("the option {}", args[i]), line_);
            // Such a parameter would make the daemon load files from any folder.
            if (args[i + 1].find("component_path") != std::string::npos)
                refuse(fmt::format("the parameter {}", args[i + 1]), line_);
            i += 2;
        }
    }

    std::string_view line_;
    const Environment& environment_;
    DaemonCommand out_;
};

}  // namespace

DaemonCommand parse_daemon_command(std::string_view line, const Environment& environment) {
    return Parser(line, environment).parse();
}

std::string local_daemon(const DaemonCommand& command, const LocalPrograms& programs) {
    const std::filesystem::path named(command.program);
    const auto name = named.filename().string();
    std::vector<std::string> own;
    if (const auto found = programs.in_path(name)) own.push_back(*found);
    if (const auto mpirun = programs.in_path("mpirun"))
        own.push_back((std::filesystem::path(*mpirun).parent_path() / name).string());
    if (!named.has_parent_path()) {
        if (const auto found = programs.in_path(name)) return *found;
        throw UsageError(
            fmt::format("this node has no {} in its PATH; install the same Open MPI on all nodes", name));
    }
    for (const auto& each : own)
        if (programs.same_file(each, command.program)) return each;
    throw UsageError(
        fmt::format("node 0 uses {}, and this node's Open MPI is {}; use the same one on all nodes",
                    command.program, own.empty() ? "not in its PATH" : own.back()));
}

}  // namespace dtrain::transport
