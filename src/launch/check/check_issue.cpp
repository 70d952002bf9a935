// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_issue.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/backend/registry.hpp"

namespace dtrain::launch {
namespace {

/// Whether a command's error output contains one of these texts.
bool says(const std::string& complaint, std::initializer_list<std::string_view> any_of) {
    return std::any_of(any_of.begin(), any_of.end(),
                       [&](std::string_view words) { return complaint.find(words) != std::string::npos; });
}

/// The line that names the program, since it tells why the program does not run; else the last line.
std::string informative_line(const std::string& complaint, const std::string& program) {
    const auto lines = split(trimmed(complaint), '\n');
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(program) != std::string::npos;
    });
    return one_line(trimmed(found != lines.end() ? *found : lines.back()));
}

std::string remedy_of_ssh(const std::string& host, const std::string& complaint) {
    if (says(complaint, {"Permission denied", "Too many authentication failures"}))
        return fmt::format("ssh must not ask for anything: ssh-copy-id {}", host);
    if (says(complaint, {"Host key verification failed"}))
        return fmt::format("accept its key once: ssh {} true", host);
    if (says(complaint, {"Connection refused"}))
        return "start sshd there; a job without ssh needs the same command on every node";
    if (says(complaint, {"Could not resolve"}))
        return "write its address, or make its name known to DNS or /etc/hosts";
    if (says(complaint, {"timed out", "No route to host", "Network is unreachable"}))
        return "is it on, in this network, and its port 22 open?";
    return fmt::format("try it by hand: ssh {} true", host);
}

std::string remedy_of(const std::string& way, const std::string& host, const std::string& complaint) {
    if (way == "ssh") return remedy_of_ssh(host, complaint);
    if (const auto* backend = find_backend(way)) return backend->remedy_for_node(host);
    return fmt::format(
        "what {} said stands in the output of the job; the node must be able to connect to this one", way);
}

}  // namespace

Issue issue_of(const std::string& way, const std::string& host, const std::string& program,
               std::optional<int> status, const std::string& complaint) {
    const auto said = informative_line(complaint, program);
    constexpr int not_executable = 126;
    constexpr int not_found = 127;
    if (status == not_found || status == not_executable || said.find(program) != std::string::npos)
        return {
            .text = fmt::format("{} does not run there: {}", program, said.empty() ? "not found" : said),
            .remedy =
                "install the same dtrain in the same folder on all nodes, or in a folder that they share"};
    if (!status)
        return {.text = fmt::format("no answer through {}{}", way, said.empty() ? "" : ": " + said),
                .remedy = remedy_of(way, host, complaint)};
    return {.text = said.empty() ? fmt::format("{} ended with status {} and no answer", way, *status) : said,
            .remedy = remedy_of(way, host, complaint)};
}

Issue issue_of_launcher(bool is_connected, int port) {
    if (!is_connected)
        return {.text = "its launcher has gone before it told anything",
                .remedy = "its own console tells why"};
    return {.text = fmt::format("its dtrain-check has not called port {} of this node", port),
            .remedy =
                "a job's ranks use such ports too: let no firewall drop them; its own console may tell more"};
}

}  // namespace dtrain::launch
