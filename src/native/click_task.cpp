// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/click_task.hpp"

#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "data/click_cache.hpp"
#include "native/click_model.hpp"
#include "native/id_dictionary.hpp"

namespace dtrain::native {
namespace {

ClickLog read_log(const Job& job, const ClickLayout& layout, const std::filesystem::path& file) {
    auto log = ClickLog::read(file, layout);
    const auto bytes = log.labels.size() * sizeof(float) + log.dense.size() * sizeof(float) +
                       log.ids.size() * sizeof(std::int64_t);
    if (bytes > static_cast<std::uint64_t>(job.data_memory))
        throw UsageError(
            fmt::format("{}: {} samples need {} bytes of memory, but [data] memory allows {}; with "
                        "[data] cache = \"FOLDER\" they can stay on disk",
                        file.string(), log.size(), bytes, job.data_memory));
    return log;
}

}  // namespace

ClickTask::ClickTask(ModelSettings settings, ClickLog train, std::optional<ClickLog> test, bool with_servers)
    : ClickTask(std::move(settings), samples_in_memory(std::move(train)),
                test ? samples_in_memory(std::move(*test)) : nullptr, with_servers) {}

ClickTask::ClickTask(ModelSettings settings, std::unique_ptr<ClickSamples> train,
                     std::unique_ptr<ClickSamples> test, bool with_servers)
    : settings_(std::move(settings)),
      with_servers_(with_servers),
      rows_(settings_.dict_size),
      train_(std::move(train)),
      test_(std::move(test)) {
    if (test_ && (test_->integers() != train_->integers() || test_->slots() != train_->slots()))
        throw UsageError(
            fmt::format("training samples have {} numbers and {} ids, but test samples {} and {}",
                        train_->integers(), train_->slots(), test_->integers(), test_->slots()));
    if (with_servers) return;
    const auto dictionary = std::make_shared<IdDictionary>(std::span<const std::int64_t>());
    train_->add_ids_to(*dictionary);
    rows_ = dictionary->size();
    train_->translate(dictionary);
    if (test_) test_->translate(dictionary);
}

std::string ClickTask::sample_description() const {
    return fmt::format("{} and {} each", counted(train_->slots(), "id"),
                       counted(train_->integers(), "number"));
}

Model ClickTask::build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                       const OptimizerOptions& adjust) const {
    return build_click_model(settings_,
                             {local_batch, train_->integers(), train_->slots(), rows_, with_servers_},
                             optimizer, ranks, adjust);
}

std::unique_ptr<Feeder> ClickTask::train_feeder(const DistributedSampler::Options& sampling) const {
    return train_->feeder(sampling, with_servers_);
}

std::unique_ptr<Feeder> ClickTask::test_feeder(const DistributedSampler::Options& sampling) const {
    return test_->feeder(sampling, with_servers_);
}

std::unique_ptr<ClickTask> open_click_task(const Job& job, bool with_servers) {
    const auto layout = click_layout_in(job.train_data.file, job.click_columns);
    // A test log is read sequentially, which needs little memory.
    const auto of_test = job.test_data ? job.data_memory / 8 : 0;
    const auto open = [&](const std::filesystem::path& log, std::int64_t memory) {
        if (!job.click_cache) return samples_in_memory(read_log(job, layout, log));
        return samples_in_cache(data::open_click_cache(log, layout, *job.click_cache), memory);
    };
    auto train = open(job.train_data.file, job.data_memory - of_test);
    auto test = job.test_data ? open(job.test_data->file, of_test) : nullptr;
    return std::make_unique<ClickTask>(job.model, std::move(train), std::move(test), with_servers);
}

}  // namespace dtrain::native
