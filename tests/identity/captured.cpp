// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/captured.hpp"

#include <stdexcept>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

std::map<std::string, std::map<int, Environment>> parse_captures() {
    const auto text = read_file(DTRAIN_CAPTURED_ENVIRONMENTS);
    if (!text) throw std::runtime_error(DTRAIN_CAPTURED_ENVIRONMENTS " cannot be read");
    std::map<std::string, std::map<int, Environment>> out;
    Environment* current = nullptr;
    for (const auto& line : split(*text, '\n')) {
        if (line.empty() || line.front() == '#') continue;
        if (line.front() == '[') {
            const auto words = split(line.substr(1, line.size() - 2), ' ');
            current = &out[words.at(0)][parse_int(words.at(1)).value()];
        } else {
            const auto equals = line.find('=');
            current->set(line.substr(0, equals), line.substr(equals + 1));
        }
    }
    return out;
}

}  // namespace

const std::map<std::string, std::map<int, Environment>>& captured_environments() {
    static const auto captures = parse_captures();
    return captures;
}

}  // namespace dtrain::cluster
