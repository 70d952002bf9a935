// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/click_task.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "worker/native/click_model.hpp"
#include "worker/native/id_dictionary.hpp"

namespace dtrain::native {
namespace {

class ClickFeeder final : public Feeder {
  public:
    ClickFeeder(std::shared_ptr<const ClickLog> log, const DistributedSampler::Options& sampling,
                bool with_servers)
        : Feeder(sampling), log_(std::move(log)), with_servers_(with_servers) {}

    void bind(Executor& executor) override {
        if (log_->integers > 0) dense_ = executor.feed<float>(fed_dense);
        ids_ = executor.feed<std::int64_t>(fed_ids);
        click_ = executor.feed<float>(fed_click);
        weight_ = executor.feed<float>(fed_weight);
    }

    void feed() override {
        const auto batch = next_batch();
        log_->gather(batch.samples, dense_, ids_, click_);
        std::ranges::copy(batch.weights, weight_.begin());
    }

    std::optional<Ahead> ahead() override {
        const auto batch = with_servers_ ? batch_ahead() : std::nullopt;
        if (!batch) return std::nullopt;
        ahead_.clear();
        for (const auto sample : batch->samples) {
            const auto ids = std::span(log_->ids).subspan(static_cast<std::size_t>(sample * log_->slots),
                                                          static_cast<std::size_t>(log_->slots));
            ahead_.insert(ahead_.end(), ids.begin(), ids.end());
        }
        return Ahead{fmt::format("{}.weight", embedding_name), ahead_};
    }

  private:
    std::shared_ptr<const ClickLog> log_;
    bool with_servers_;
    std::vector<std::int64_t> ahead_;
    std::span<float> dense_;
    std::span<std::int64_t> ids_;
    std::span<float> click_;
    std::span<float> weight_;
};

ClickLog read_log(const Job& job, const ClickLayout& layout, const std::filesystem::path& file) {
    auto log = ClickLog::read(file, layout);
    const auto bytes = log.labels.size() * sizeof(float) + log.dense.size() * sizeof(float) +
                       log.ids.size() * sizeof(std::int64_t);
    if (bytes > static_cast<std::uint64_t>(job.data_memory))
        throw UsageError(fmt::format("{}: {} samples need {} bytes of memory, but [data] memory allows {}",
                                     file.string(), log.size(), bytes, job.data_memory));
    return log;
}

}  // namespace

ClickTask::ClickTask(ModelSettings settings, ClickLog train, std::optional<ClickLog> test, bool with_servers)
    : settings_(std::move(settings)), with_servers_(with_servers), fingerprint_(train.fingerprint()) {
    if (test && (test->integers != train.integers || test->slots != train.slots))
        throw UsageError(
            fmt::format("training samples have {} numbers and {} ids, but test samples {} and {}",
                        train.integers, train.slots, test->integers, test->slots));
    rows_ = settings_.dict_size;
    if (!with_servers) {
        const IdDictionary dictionary(train.ids);
        rows_ = dictionary.size();
        dictionary.translate(train.ids);
        if (test) dictionary.translate(test->ids);
    }
    train_ = std::make_shared<const ClickLog>(std::move(train));
    if (test) test_ = std::make_shared<const ClickLog>(std::move(*test));
}

std::string ClickTask::sample_description() const {
    return fmt::format("{} and {} each", counted(train_->slots, "id"), counted(train_->integers, "number"));
}

Model ClickTask::build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                       const OptimizerOptions& adjust) const {
    return build_click_model(settings_, {local_batch, train_->integers, train_->slots, rows_, with_servers_},
                             optimizer, ranks, adjust);
}

std::unique_ptr<Feeder> ClickTask::train_feeder(const DistributedSampler::Options& sampling) const {
    return std::make_unique<ClickFeeder>(train_, sampling, with_servers_);
}

std::unique_ptr<Feeder> ClickTask::test_feeder(const DistributedSampler::Options& sampling) const {
    return std::make_unique<ClickFeeder>(test_, sampling, with_servers_);
}

std::unique_ptr<ClickTask> open_click_task(const Job& job, bool with_servers) {
    const auto layout = click_layout_in(job.train_data.file, job.click_columns);
    auto train = read_log(job, layout, job.train_data.file);
    auto test = job.test_data ? std::optional(read_log(job, layout, job.test_data->file)) : std::nullopt;
    return std::make_unique<ClickTask>(job.model, std::move(train), std::move(test), with_servers);
}

}  // namespace dtrain::native
