// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/gpu_advice.hpp"

#include <array>
#include <poll.h>
#include <utility>

#include "base/signal_free_thread.hpp"
#include "worker/end_info.hpp"

namespace dtrain::native {

GpuAdvice::GpuAdvice(std::optional<std::string> visible, Report report,
                     const std::filesystem::path& kernel_log)
    : report_(std::move(report)),
      inspection_(std::move(visible)),
      xid_watch_(kernel_log),
      end_(Pipe::open()),
      thread_(signal_free_thread([this] { listen(); })) {}

GpuAdvice::~GpuAdvice() {
    end_.write_end.reset();
    thread_.join();
}

void GpuAdvice::listen() {
    for (;;) {
        std::array<pollfd, 3> sources{
            {{end_.read_end.get(), POLLIN, 0}, {inspection_.fd(), POLLIN, 0}, {xid_watch_.fd(), POLLIN, 0}}};
        ::poll(sources.data(), sources.size(), -1);
        if (sources[1].revents != 0)
            for (const auto& warning : inspection_.take()) report_(warning);
        if ((sources[2].revents & POLLIN) != 0)
            for (const auto& fact : worker::new_xid_info(xids_, xid_watch_.take())) report_(fact);
        else if (sources[2].revents != 0)
            xid_watch_.end();
        if (sources[0].revents != 0) return;
    }
}

}  // namespace dtrain::native
