// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/ssh_probe.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds ask_again{15};
constexpr std::ptrdiff_t max_at_once = 64;

/// Reads what a program that has ended left in a pipe.
std::string all_of(int pipe) {
    std::array<char, 4096> buffer;
    make_nonblocking(pipe);
    const auto got = ::read(pipe, buffer.data(), buffer.size());
    return std::string(trimmed(std::string_view(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0)));
}

}  // namespace

std::vector<std::string> ssh_command(const std::string& host, const std::string& command) {
    return {"ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", host, command};
}

std::string SshProbe::complaint_about(int node) const {
    const auto found = questions_.find(node);
    return found == questions_.end() ? "" : found->second.complaint;
}

std::vector<int> SshProbe::reached(const std::vector<int>& wanted, const std::vector<std::string>& hosts) {
    std::vector<int> out;
    if (!find_in_path("ssh", environment_)) return out;
    const auto now = Clock::now();
    for (auto& [node, question] : questions_) {
        const auto status = question.ssh ? question.ssh->poll() : std::nullopt;
        if (!status) continue;
        if (status->success() && std::find(wanted.begin(), wanted.end(), node) != wanted.end())
            out.push_back(node);
        question.complaint = status->success() ? "" : all_of(question.ssh->stderr_fd());
        question.ssh.reset();
    }
    auto running = std::count_if(questions_.begin(), questions_.end(),
                                 [](const auto& each) { return each.second.ssh != nullptr; });
    for (const int node : wanted) {
        auto& question = questions_[node];
        if (question.ssh || now < question.again_at || running >= max_at_once) continue;
        question.again_at = now + ask_again;
        question.ssh = std::make_unique<Subprocess>(
            ProcessOptions{.argv = ssh_command(hosts[static_cast<std::size_t>(node)], "true"),
                           .environment = environment_,
                           .parent_death_signal = SIGTERM});
        ++running;
    }
    return out;
}

}  // namespace dtrain::launch
