// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/wrapper_arg.hpp"

namespace dtrain::worker {

std::string wrapper_arg(std::string_view arg, int rank, std::string_view host) {
    std::string out;
    while (!arg.empty()) {
        const auto percent = arg.find('%');
        out += arg.substr(0, percent);
        if (percent == std::string_view::npos) break;
        const auto placeholder = arg.substr(percent, 2);
        if (placeholder == "%r")
            out += std::to_string(rank);
        else if (placeholder == "%h")
            out += host;
        else
            out += placeholder;
        arg.remove_prefix(percent + placeholder.size());
    }
    return out;
}

}  // namespace dtrain::worker
