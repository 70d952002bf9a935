// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/key_command.hpp"

#include <array>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "transport/key_file.hpp"

namespace dtrain::launch {
namespace {

std::string line_from_stdin() {
    std::array<char, 256> buffer;
    std::string text;
    while (text.find('\n') == std::string::npos && text.size() < buffer.size()) {
        const auto got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

}  // namespace

bool is_key_command(const std::vector<std::string>& arguments) {
    return arguments.size() >= 2 && arguments[0] == "key" &&
           (arguments[1] == "show" || arguments[1] == "install");
}

int run_key_command(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto file = transport::key_file(environment);
    const bool show = arguments.at(1) == "show";
    if (arguments.size() > (show ? 2u : 3u))
        throw UsageError(fmt::format("dtrain-launch key {}: nothing is expected behind {}", arguments[1],
                                     show ? "show" : "the key"));
    if (show) {
        write_all(STDOUT_FILENO, transport::install_command(transport::read_or_make_key(file)) + "\n");
        return 0;
    }
    transport::install_key(file, arguments.size() == 3 ? arguments[2] : line_from_stdin());
    write_all(STDOUT_FILENO, fmt::format("the key is in {}\n", file.string()));
    return 0;
}

}  // namespace dtrain::launch
