// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/wrapper_word.hpp"

namespace dtrain::worker {

std::string wrapper_word(std::string_view word, int rank, std::string_view host) {
    std::string out;
    while (!word.empty()) {
        const auto percent = word.find('%');
        out += word.substr(0, percent);
        if (percent == std::string_view::npos) break;
        const auto placeholder = word.substr(percent, 2);
        if (placeholder == "%r")
            out += std::to_string(rank);
        else if (placeholder == "%h")
            out += host;
        else
            out += placeholder;
        word.remove_prefix(percent + placeholder.size());
    }
    return out;
}

}  // namespace dtrain::worker
