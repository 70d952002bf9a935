// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/stop_request.hpp"

#include <csignal>

namespace dtrain::native {
namespace {

volatile std::sig_atomic_t is_asked = 0;
struct sigaction before {};

}  // namespace

StopRequest::StopRequest(std::optional<std::chrono::duration<double>> limit) {
    if (limit) end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*limit);
    is_asked = 0;
    struct sigaction asking {};
    asking.sa_handler = [](int) { is_asked = 1; };
    asking.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR1, &asking, &before);
}

StopRequest::~StopRequest() {
    ::sigaction(SIGUSR1, &before, nullptr);
}

std::optional<std::string> StopRequest::reason() const {
    if (is_asked != 0) return "SIGUSR1";
    if (end_ && Clock::now() >= *end_) return "the time limit";
    return std::nullopt;
}

}  // namespace dtrain::native
