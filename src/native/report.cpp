// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/report.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>

#include <dtrain/version.hpp>

#include "base/oom_watch.hpp"
#include "base/text.hpp"

namespace dtrain::native {
namespace {

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t number) {
    auto digits = std::to_string(number);
    for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

std::string four_digits(const std::optional<double>& metric) {
    return metric ? fmt::format("{:.4f}", *metric) : "-";
}

/// "0.002", "0.002 cosine after 100 steps of warm-up", "piecewise".
std::string rate_of(const TrainSettings& train) {
    auto rate = fmt::format("{}", learning_rate_of(train.optimizer));
    const auto& schedule = train.adjust.schedule;
    if (!schedule) return rate;
    const auto warmup =
        schedule->warmup ? fmt::format(" after {} steps of warm-up", schedule->warmup->steps) : std::string();
    const auto name = name_of(schedule->decay);
    return (name == "piecewise" ? name : fmt::format("{} {}", rate, name)) + warmup;
}

}  // namespace

std::string batch_text(const Trainer& trainer, const TrainSettings& train) {
    if (train.virtual_ranks == 0)
        return fmt::format("{} ({} per rank)", trainer.global_batch(), trainer.local_batch());
    return fmt::format("{} ({} for each of {})", trainer.global_batch(), trainer.local_batch(),
                       counted(train.virtual_ranks, "virtual rank"));
}

std::string local_sgd_text(std::int64_t steps) {
    return fmt::format("parameters averaged every {}", steps == 1 ? "step" : counted(steps, "step"));
}

std::string header(const Job& job, const std::string& job_name, const Trainer& trainer,
                   const std::string& ranks) {
    const auto& task = trainer.task();
    const auto test = task.test_samples() > 0 ? grouped(task.test_samples()) : std::string("none");
    auto out = fmt::format("dtrain {}: {} ({})\n", version, job.title, job_name);
    out += fmt::format("data      {}: {} samples to train on, {} to test on; {}\n",
                       job.train_data.file.filename().string(), grouped(task.train_samples()), test,
                       task.sample_description());
    out += fmt::format("model     {}: {} parameters\n", trainer.model().description,
                       grouped(trainer.model().parameters));
    out += fmt::format(
        "training  {}, global batch {}, {} steps an epoch; {}, learning rate {}, seed {}{}{}{}\n", ranks,
        batch_text(trainer, job.train), trainer.steps_per_epoch(), name_of(job.train.optimizer),
        rate_of(job.train), job.train.seed,
        job.train.local_sgd == 0 ? "" : fmt::format(", local SGD: {}", local_sgd_text(job.train.local_sgd)),
        job.train.products == ComputeType::float32
            ? ""
            : fmt::format(", products of {}", to_string(job.train.products)),
        trainer.executor().device() == "CPU" ? "" : fmt::format(", on {}", trainer.executor().device()));
    return out;
}

std::string table_head(ModelKind kind) {
    const bool classifies = kind == ModelKind::classifier;
    return fmt::format("{:>6}  {:>10}  {:>9}  {:>8}  {:>11}  {:>8}\n", "epoch", "train loss",
                       classifies ? "train acc" : "test loss", classifies ? "test acc" : "test AUC",
                       "samples/s", "time [s]");
}

std::string table_row(ModelKind kind, const EpochReport& report) {
    const auto test = report.test.value_or(Metrics{});
    const bool classifies = kind == ModelKind::classifier;
    const auto test_loss = report.test ? std::optional(test.loss) : std::nullopt;
    return fmt::format("{:>6}  {:>10.4f}  {:>9}  {:>8}  {:>11.0f}  {:>8.2f}\n", report.epoch,
                       report.train.loss, four_digits(classifies ? report.train.accuracy : test_loss),
                       four_digits(classifies ? test.accuracy : test.auc),
                       static_cast<double>(report.timed_samples) / report.train_seconds,
                       report.total_seconds);
}

std::string result_line(const Metrics& test, const std::optional<double>& best_auc) {
    if (!test.auc) return fmt::format("test accuracy {}\n", four_digits(test.accuracy));
    const auto best = best_auc ? fmt::format(" (best possible {:.4f})", *best_auc) : std::string();
    return fmt::format("test AUC {}{}\n", four_digits(test.auc), best);
}

std::string server_line(const ServerCounts& counts) {
    if (counts.inserted + counts.rows + counts.dropped + counts.rejected + counts.dense_rejected == 0)
        return "";
    const auto text = [](std::uint64_t count) { return grouped(static_cast<std::int64_t>(count)); };
    return fmt::format(
        "servers       {} rows, inserted {}, evicted {}; gradients dropped {}, rejected {} of rows and {} of "
        "dense "
        "parameters\n",
        text(counts.rows), text(counts.inserted), text(counts.evicted), text(counts.dropped),
        text(counts.rejected), text(counts.dense_rejected));
}

std::string left_out_line(const Metrics& train) {
    if (train.left_out == 0) return "";
    return fmt::format("        {} of {} samples are left out: the loss of their batches is no number\n",
                       grouped(train.left_out), grouped(train.samples));
}

std::string next_steps(const std::string& command, const std::filesystem::path& job_file,
                       std::int64_t epochs) {
    return fmt::format(
        "try next\n"
        "  4 ranks            mpirun --oversubscribe -np 4 {0}\n"
        "  train on           mpirun -np 2 {0} --resume --epochs {2}\n"
        "  a job of your own  cp {1}/digits.* . && mpirun -np 2 {0} digits.toml\n",
        command, job_file.parent_path().string(), epochs);
}

std::string profile_text(std::vector<OperatorTime> times, std::size_t memory_bytes,
                         const std::string& communicator) {
    std::ranges::stable_sort(times, std::greater{}, &OperatorTime::total);
    std::chrono::nanoseconds all{0};
    for (const auto& time : times) all += time.total;
    std::vector<std::vector<std::string>> rows{{"operator", "makes", "calls", "us a call", "share"}};
    for (const auto& time : times) {
        if (time.calls == 0) continue;
        const auto nanoseconds = static_cast<double>(time.total.count());
        rows.push_back({time.type, time.result, std::to_string(time.calls),
                        fmt::format("{:.1f}", nanoseconds / 1e3 / static_cast<double>(time.calls)),
                        fmt::format("{:.1f}%", 100 * nanoseconds / static_cast<double>(all.count()))});
    }
    return fmt::format(
        "profile of rank 0: training took {:.2f} s in operators; a step's memory is {}; {}\n{}\n",
        std::chrono::duration<double>(all).count(), bytes_text(static_cast<std::int64_t>(memory_bytes)),
        communicator, join(aligned(rows), "\n"));
}

}  // namespace dtrain::native
