// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/gpu_use.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/quiet_thread.hpp"

namespace dtrain::topology {
namespace {

/// Sums of samples, from which the usage is computed.
class SampleSums {
  public:
    void add(const std::vector<GpuHealth>& gpus) {
        double watts = 0;
        bool report_watts = false;
        for (const auto& gpu : gpus) {
            if (gpu.utilization) {
                utilization_ += *gpu.utilization;
                ++utilizations_;
            }
            if (gpu.watts) {
                watts += *gpu.watts;
                report_watts = true;
            }
            raise(max_.memory, gpu.memory_used);
            raise(max_.celsius, gpu.celsius);
        }
        if (report_watts) {
            watts_ += watts;
            ++watt_samples_;
        }
    }

    GpuUse use() const {
        auto use = max_;
        if (utilizations_ > 0) use.utilization = utilization_ / utilizations_;
        if (watt_samples_ > 0) use.watts = watts_ / watt_samples_;
        return use;
    }

  private:
    template <class Number>
    static void raise(std::optional<double>& max, const std::optional<Number>& seen) {
        if (seen) max = std::max(max.value_or(0), static_cast<double>(*seen));
    }

    double utilization_ = 0;
    int utilizations_ = 0;
    double watts_ = 0;
    int watt_samples_ = 0;
    GpuUse max_;
};

}  // namespace

GpuUse gpu_use(const std::vector<std::vector<GpuHealth>>& samples) {
    SampleSums all;
    for (const auto& gpus : samples) all.add(gpus);
    return all.use();
}

struct GpuWatch::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;    // set to end the thread
    bool has_ended = false;  // set by the thread
    SampleSums all;
    SampleSums since_last;

    /// @returns whether to continue
    bool add(const std::vector<GpuHealth>& gpus, std::chrono::milliseconds between) {
        std::unique_lock lock(mutex);
        all.add(gpus);
        since_last.add(gpus);
        return !changed.wait_for(lock, between, [this] { return is_over; });
    }

    void end() {
        const std::lock_guard lock(mutex);
        has_ended = true;
        changed.notify_all();
    }
};

GpuWatch::GpuWatch(std::optional<std::string> cuda_visible_devices, std::chrono::milliseconds between,
                   std::string library)
    : shared_(std::make_shared<Shared>()) {
    quiet_thread<std::thread>([shared = shared_, visible = std::move(cuda_visible_devices), between,
                               library = std::move(library)] {
        try {
            const NvmlLibrary nvml(library);
            if (!ask_gpu_load(nvml, std::nullopt).empty()) {
                const auto gpus = shown_gpus(discover(), visible);
                for (;;) {
                    const auto loads = ask_gpu_load(nvml, gpus);
                    if (loads.empty() || !shared->add(loads, between)) break;
                }
            }
        } catch (const std::exception&) {
            // The job runs without GPU statistics.
        }
        shared->end();
    }).detach();
}

GpuWatch::~GpuWatch() {
    std::unique_lock lock(shared_->mutex);
    shared_->is_over = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return shared_->has_ended; });
}

GpuUse GpuWatch::use() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->all.use();
}

GpuUse GpuWatch::use_since_last() {
    const std::lock_guard lock(shared_->mutex);
    return std::exchange(shared_->since_last, {}).use();
}

}  // namespace dtrain::topology
