// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <optional>

#include <dtrain/callbacks.hpp>
#include <dtrain/model.hpp>

#include "base/status_line.hpp"
#include "metrics/progress.hpp"

namespace dtrain {

using Clock = std::chrono::steady_clock;

struct ProgressBar::Content {
    std::optional<StatusLine> line;  ///< of the first rank, on a terminal or not
    Clock::time_point begin, epoch_begin, next;
    std::int64_t steps = 0;  ///< since `begin`

    void show(const StepRecord& record, Clock::time_point now) {
        next = now + metrics::stands_for(*line);
        const auto in_epoch = std::chrono::duration<double>(now - epoch_begin).count();
        const metrics::Progress progress{
            .epoch = record.epoch,
            .epochs = record.epochs,
            .step = record.step,
            .steps = record.steps,
            .samples_per_second = static_cast<double>(record.step * record.batch) / in_epoch,
            .loss = record.loss,
            .left = metrics::time_left(now - begin, steps,
                                       (record.epochs - record.epoch + 1) * record.steps - record.step)};
        metrics::show(progress, *line, [](const std::string& text) {
            std::fputs(text.c_str(), stdout);
            std::fflush(stdout);
        });
    }
};

ProgressBar::ProgressBar() : content_(new Content) {}
ProgressBar::~ProgressBar() = default;

void ProgressBar::on_begin(Model& model, const std::vector<std::string>& /*metric_names*/) {
    if (model.communicator().rank() != 0) return;
    content_->line = StatusLine::on_output();
    content_->begin = content_->epoch_begin = Clock::now();
    content_->next = content_->begin + metrics::stands_for(*content_->line);
    content_->steps = 0;
}

void ProgressBar::on_step_end(Model& /*model*/, const StepRecord& record) noexcept {
    if (!content_->line) return;
    ++content_->steps;
    const auto now = Clock::now();
    if (now >= content_->next) content_->show(record, now);
}

bool ProgressBar::on_epoch_end(Model& /*model*/, const EpochRecord& /*record*/) {
    if (content_->line) content_->line->clear();
    content_->epoch_begin = Clock::now();
    return true;
}

void ProgressBar::on_end(Model& /*model*/, const std::exception* /*failure*/) noexcept {
    if (content_->line) content_->line->clear();
    content_->line.reset();
}

}  // namespace dtrain
