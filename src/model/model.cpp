// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/model.hpp>

#include "base/host.hpp"
#include "comm/api/own_world_size.hpp"
#include "comm/node/node_line.hpp"
#include "metrics/slowest_rank.hpp"
#include "model/learner.hpp"
#include "model/model_access.hpp"
#include "model/together.hpp"

namespace dtrain {
namespace {

using model::Fed;
using model::together;

Network with_names(SimpleNetwork network) {
    if (!network) return {};
    return [network = std::move(network)](Program& program, const Vars& inputs) {
        return network(program, inputs.front());
    };
}

void warn_that_it_trains_alone(const ModelOptions& options) {
    const auto environment = Environment::of_this_process();
    const auto ranks = comm::own_world_size(environment);
    static std::atomic<bool> is_reported = false;
    if (options.trains_alone || options.servers || ranks == 1 || !comm::is_default(options.communicator) ||
        is_reported.exchange(true))
        return;
    comm::report_once_per_node(
        fmt::format(
            "each of the {} ranks trains a Model of its own, as it has no ModelOptions::communicator; "
            "give it ParallelEnv::communicator() to train one together, or set "
            "ModelOptions::trains_alone, if that is meant",
            ranks),
        environment);
}

/// Else the servers that the launcher started would train as the others do, without a word.
void check_that_this_rank_trains(const ModelOptions& options) {
    const bool is_server =
        Environment::of_this_process().get_or("TRAINING_ROLE", "") == "PSERVER" && !options.trains_alone;
    if (!is_server || options.servers || comm::is_default(options.communicator)) return;
    throw UsageError(
        "this rank is a parameter server of the job (TRAINING_ROLE is PSERVER), and its Model would train "
        "like those of the workers: set ModelOptions::servers, or start the job without --server_num");
}

std::vector<std::string> measure_names(const model::Learner& learner, bool evaluates) {
    std::vector<std::string> names{"loss"};
    for (auto& metric : learner.metric_names()) names.push_back(std::move(metric));
    if (!evaluates) return names;
    const auto trained = names;
    for (const auto& name : trained) names.push_back("eval_" + name);
    return names;
}

}  // namespace

struct Model::Content {
    model::Learner learner;
    std::vector<metrics::RankTimes> times = {};
};

Model::Model(Network network, std::vector<SampleSpec> inputs, std::vector<SampleSpec> labels,
             ModelOptions options)
    : content_(new Content{
          model::Learner({std::move(network), std::move(inputs), std::move(labels)}, std::move(options))}) {}

Model::Model(SimpleNetwork network, SampleSpec input, SampleSpec label, ModelOptions options)
    : Model(with_names(std::move(network)), std::vector{std::move(input)}, std::vector{std::move(label)},
            std::move(options)) {}

Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                    const OptimizerOptions& adjust) {
    content_->learner.prepare(optimizer, loss, metrics, adjust);
}

bool Model::serve() {
    return content_->learner.serve();
}

std::vector<EpochRecord> Model::fit(const Samples& train, const FitOptions& options) {
    auto& learner = content_->learner;
    const auto& ranks = learner.communicator();
    learner.check_prepared_together("fit");
    together(ranks, [&] {
        if (options.epochs < 0)
            throw UsageError(fmt::format("epochs is {}; it must be 0 or more", options.epochs));
        check_that_this_rank_trains(learner.options());
    });
    learner.check(train, Fed::all, options.batch_size);
    if (options.eval) learner.check(*options.eval, Fed::all, options.batch_size);
    const auto names = measure_names(learner, options.eval.has_value());
    warn_that_it_trains_alone(learner.options());
    try {
        auto history = fit_checked(train, options, names);
        for (const auto& callback : options.callbacks) callback->on_end(*this, nullptr);
        return history;
    } catch (const std::exception& failure) {
        for (const auto& callback : options.callbacks) callback->on_end(*this, &failure);
        throw;
    }
}

std::vector<EpochRecord> Model::fit_checked(const Samples& train, const FitOptions& options,
                                            const std::vector<std::string>& names) {
    auto& learner = content_->learner;
    const auto& ranks = learner.communicator();
    for (const auto& callback : options.callbacks) together(ranks, [&] { callback->on_begin(*this, names); });

    learner.begin_times();
    content_->times.clear();
    const auto fit_start = std::chrono::steady_clock::now();
    const auto epochs_at_end = learner.epochs() + options.epochs;
    std::vector<EpochRecord> history;
    bool goes_on = true;
    for (std::int64_t epoch = 0; epoch < options.epochs && goes_on; ++epoch) {
        const auto feeder = learner.training_feeder(train, options);
        EpochRecord record;
        StepRecord where{.epoch = learner.epochs() + 1,
                         .epochs = epochs_at_end,
                         .steps = feeder->steps(),
                         .batch = options.batch_size};
        for (const auto& callback : options.callbacks)
            together(ranks, [&] { callback->on_epoch_begin(*this, where); });
        const auto start = std::chrono::steady_clock::now();
        record.train = learner.train_epoch(*feeder, [&](std::int64_t done, double loss) {
            where.step = done;
            where.loss = loss;
            where.learning_rate = learner.learning_rate();
            for (const auto& callback : options.callbacks) callback->on_step_end(*this, where);
            for (const auto& callback : options.callbacks) callback->between_steps(*this);
        });
        record.train_seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        record.epoch = learner.epochs();
        record.learning_rate = where.learning_rate;
        if (options.eval) record.eval = learner.evaluate(*options.eval, options.batch_size);
        record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ranks.broadcast(std::span(&record.seconds, 1));
        ranks.broadcast(std::span(&record.train_seconds, 1));
        note_times(record,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - fit_start).count());
        history.push_back(record);
        for (const auto& callback : options.callbacks)
            together(ranks, [&] { callback->on_measured(*this, record); });
        for (const auto& callback : options.callbacks)
            together(ranks, [&] { goes_on = callback->on_epoch_end(*this, record) && goes_on; });
        goes_on = ranks.all(goes_on);
    }
    for (const auto& callback : options.callbacks) together(ranks, [&] { callback->on_finish(*this); });
    return history;
}

const std::vector<metrics::RankTimes>& detail::ModelAccess::rank_times(const Model& model) {
    return model.content_->times;
}

bool detail::ModelAccess::has_servers(const Model& model) {
    return model.content_->learner.options().servers.has_value();
}

void Model::note_times(EpochRecord& record, double seconds) {
    auto times = content_->learner.gather_times(seconds);
    if (const auto slowest = metrics::slowest_of(metrics::times_since(content_->times, times)))
        record.slowest = SlowRank{.rank = slowest->rank,
                                  .host = communicator().broadcast(host_name(), slowest->rank),
                                  .waited = slowest->waited,
                                  .is_urgent = slowest->is_urgent};
    content_->times = std::move(times);
}

Metrics Model::evaluate(const Samples& samples, const EvaluateOptions& options) {
    content_->learner.check_prepared_together("evaluate");
    content_->learner.check(samples, Fed::all, options.batch_size);
    return content_->learner.evaluate(samples, options.batch_size);
}

Predictions Model::predict(const Samples& samples, const EvaluateOptions& options) {
    content_->learner.check_prepared_together("predict");
    content_->learner.check(samples, Fed::inputs, options.batch_size);
    return content_->learner.predict(samples, options.batch_size);
}

void Model::save(const std::filesystem::path& path, std::optional<CheckpointFormat> format) const {
    content_->learner.check_prepared_together("save");
    if (content_->learner.options().servers) {
        together(communicator(), [&] {
            if (format == CheckpointFormat::file)
                throw UsageError(fmt::format(
                    "save(\"{}\"): parameter servers write a directory, not a file; leave out the format, "
                    "or give CheckpointFormat::directory",
                    path.string()));
        });
        content_->learner.save_on_servers(path);
        return;
    }
    together(communicator(), [&] {
        if (communicator().rank() != 0) return;
        if (format.value_or(CheckpointFormat::file) == CheckpointFormat::file)
            save_checkpoint(path, checkpoint());
        else
            save_checkpoint_directory(path, checkpoint());
    });
}

void Model::load(const std::filesystem::path& path) {
    content_->learner.check_prepared_together("load");
    content_->learner.load(path);
}

std::optional<std::filesystem::path> Model::load_newest(const std::filesystem::path& folder,
                                                        const std::function<void(const std::string&)>& warn) {
    content_->learner.check_prepared_together("load_newest");
    return content_->learner.load_newest(folder, warn);
}

Checkpoint Model::checkpoint() const {
    content_->learner.check_prepared("checkpoint");
    return content_->learner.checkpoint();
}

StateCheckpoint Model::position() const {
    content_->learner.check_prepared("position");
    return content_->learner.position();
}

std::optional<double> Model::learning_rate() const {
    content_->learner.check_prepared("learning_rate");
    return content_->learner.learning_rate();
}

void Model::set_learning_rate(double rate) {
    content_->learner.check_prepared("set_learning_rate");
    content_->learner.set_learning_rate(rate);
}

void Model::keep(const std::string& name, std::vector<double> numbers) {
    content_->learner.check_prepared("keep");
    content_->learner.keep(name, std::move(numbers));
}

std::optional<std::vector<double>> Model::kept(const std::string& name) const {
    content_->learner.check_prepared("kept");
    return content_->learner.kept(name);
}

std::int64_t Model::epochs_done() const {
    return content_->learner.epochs();
}

std::int64_t Model::steps_done() const {
    return content_->learner.steps();
}

const Communicator& Model::communicator() const {
    return content_->learner.communicator();
}

const State& Model::state() const {
    content_->learner.check_prepared("state");
    return content_->learner.state();
}

const Program& Model::network() const {
    return content_->learner.network();
}

}  // namespace dtrain
