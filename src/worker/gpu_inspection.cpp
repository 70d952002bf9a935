// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/gpu_inspection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/quiet_thread.hpp"
#include "base/text.hpp"
#include "topology/gpu_issues.hpp"

namespace dtrain::worker {
namespace {

void inspect(const std::optional<std::string>& cuda_visible_devices, const FileDescriptor& answers) {
    try {
        const auto gpus = topology::ask_gpu_health();
        if (gpus.empty()) return;
        for (const auto& warning : gpu_warnings(gpus, topology::discover(), cuda_visible_devices))
            write_all(answers.get(), one_line(warning) + "\n");
    } catch (const std::exception&) {
        // The job runs without these warnings.
        return;
    }
}

}  // namespace

std::vector<std::string> gpu_warnings(const std::vector<topology::GpuHealth>& gpus,
                                      const topology::Machine& machine,
                                      const std::optional<std::string>& cuda_visible_devices) {
    const auto shown = topology::shown_gpus(machine, cuda_visible_devices);
    std::vector<std::string> warnings;
    for (const auto& gpu : gpus) {
        if (shown && std::ranges::find(*shown, gpu.pci) == shown->end()) continue;
        for (const auto& issue : topology::issues_of(gpu))
            warnings.push_back(fmt::format("GPU {}: {}; {}", gpu.pci.to_string(), issue.text, issue.remedy));
    }
    return warnings;
}

GpuInspection::GpuInspection(std::optional<std::string> cuda_visible_devices) {
    auto pipe = Pipe::open();
    make_nonblocking(pipe.read_end.get());
    answers_ = std::move(pipe.read_end);
    quiet_thread<std::thread>([visible = std::move(cuda_visible_devices),
                               answers = std::move(pipe.write_end)] {
        inspect(visible, answers);
    }).detach();
}

GpuInspection::~GpuInspection() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (answers_.valid() && std::chrono::steady_clock::now() < until) {
        pollfd answers{answers_.get(), POLLIN, 0};
        ::poll(&answers, 1, 100);
        if (answers.revents != 0) take();
    }
}

std::vector<std::string> GpuInspection::take() {
    std::array<char, 4096> piece{};
    for (;;) {
        const auto got = ::read(answers_.get(), piece.data(), piece.size());
        if (got < 0) return {};
        if (got == 0) break;
        so_far_.append(piece.data(), static_cast<std::size_t>(got));
    }
    answers_.reset();
    auto warnings = split(so_far_, '\n');
    std::erase(warnings, "");
    return warnings;
}

}  // namespace dtrain::worker
