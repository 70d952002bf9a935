// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_state.hpp"

#include <array>

namespace dtrain::comm {

NcclNext next_of(NcclPhase phase, const NcclPoll& polled) {
    if (polled.nccl == NcclState::refused && phase == NcclPhase::issuing) return NcclNext::refuse;
    if (polled.nccl == NcclState::failed || polled.nccl == NcclState::refused) return NcclNext::fail;
    if (phase == NcclPhase::running) {
        if (polled.gpu == NcclState::failed) return NcclNext::fail;
        if (polled.gpu == NcclState::done) return NcclNext::go_on;
    } else if (polled.nccl == NcclState::done) {
        return NcclNext::go_on;
    }
    if (polled.others_gave_up) return NcclNext::give_up;
    if (polled.deadline.count() > 0 && polled.waited > polled.deadline) return NcclNext::give_up;
    return NcclNext::wait;
}

std::chrono::microseconds nccl_sleep(std::chrono::duration<double> waited) {
    using std::chrono::microseconds;
    constexpr std::chrono::duration<double> at_once{0.002};
    constexpr std::chrono::duration<double> soon{0.05};
    constexpr std::chrono::duration<double> later{0.5};
    if (waited < at_once) return microseconds(0);
    return waited < soon ? microseconds(50) : waited < later ? microseconds(200) : microseconds(1000);
}

std::string_view nccl_text(int code) {
    constexpr std::array<std::string_view, 8> words{
        "no error",         "unhandled CUDA error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote error",           "in progress"};
    return code >= 0 && static_cast<std::size_t>(code) < words.size() ? words[static_cast<std::size_t>(code)]
                                                                      : "unknown error";
}

}  // namespace dtrain::comm
