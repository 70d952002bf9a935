// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "checkpoint/checkpointer.hpp"
#include "model/server_checkpointer.hpp"
#include "program/device/compute_device.hpp"

namespace dtrain::native {
namespace {

RankParts parts_of(const TrainSettings& settings, const Communicator& communicator) {
    if (settings.virtual_ranks != 0 && settings.virtual_ranks < communicator.size())
        throw UsageError(
            fmt::format("[train] virtual_ranks {} are fewer than the job's {} ranks; every rank "
                        "needs one at least",
                        settings.virtual_ranks, communicator.size()));
    return train::parts_of(communicator.rank(), communicator.size(), settings.virtual_ranks);
}

void check_may_be_uneven(const TrainingPlan& plan, bool by_servers) {
    if (!by_servers)
        throw UsageError(
            "[train] last_batch = \"uneven\" lets trainers make different numbers of steps, and without "
            "parameter servers the ranks of a job add their gradients in each: use \"repeat\", \"random\" or "
            "\"drop\"");
    if (plan.global_batch % plan.parts.ranks != 0)
        throw UsageError(
            fmt::format("[train] global_batch {} is no multiple of the {} trainers, and with last_batch = "
                        "\"uneven\" nothing fills up what is missing: use 'batch', of each trainer",
                        plan.global_batch, plan.parts.ranks));
}

OptimizerOptions with_steps(OptimizerOptions adjust, std::int64_t steps_per_epoch) {
    if (adjust.schedule)
        if (auto* cosine = std::get_if<CosineDecay>(&adjust.schedule->decay))
            cosine->steps_per_epoch = steps_per_epoch;
    return adjust;
}

std::vector<std::string> without_empty(std::vector<std::string> names) {
    std::erase(names, "");
    return names;
}

/// Variables to fetch after each batch. Without memory optimization the metrics remain available anyway.
std::vector<std::string> kept_in_training(const Model& model, const TrainSettings& settings) {
    if (!settings.memory_optimize) return {};
    return without_empty({model.loss_sum, model.correct});
}

std::vector<std::string> kept_in_tests(const Model& model, const TrainSettings& settings) {
    if (!settings.memory_optimize) return without_empty({model.scores});
    return without_empty({model.loss_sum, model.correct, model.scores});
}

std::shared_ptr<detail::ServerLink> link_of(const std::unique_ptr<ServerConnection>& servers) {
    return servers ? servers->link() : nullptr;
}

/// Places the state on a device. With servers, trainers compute independently but still get one GPU each.
State placed(State state, const TrainSettings& settings, const Communicator& trainers) {
    program::place(state, settings.device, trainers);
    return state;
}

}  // namespace

TrainingPlan plan_training(const TrainSettings& settings, std::unique_ptr<const Task> task,
                           const Communicator& communicator, bool by_servers) {
    TrainingPlan plan{
        .task = std::move(task), .settings = settings, .parts = parts_of(settings, communicator)};
    plan.global_batch = settings.global_batch.value_or(settings.batch * plan.parts.ranks);
    const auto sampling = [&](std::int64_t samples) {
        return DistributedSampler::Options{.samples = samples,
                                           .global_batch = plan.global_batch,
                                           .rank = plan.parts.first,
                                           .ranks = plan.parts.ranks,
                                           .seed = 0,
                                           .order = SampleOrder::sequential,
                                           .parts = plan.parts.own};
    };
    auto shuffled = sampling(plan.task->train_samples());
    shuffled.seed = settings.seed;
    shuffled.order = SampleOrder::shuffled;
    shuffled.last_batch = settings.last_batch;
    if (settings.last_batch == LastBatch::uneven) check_may_be_uneven(plan, by_servers);
    plan.train_feeder = plan.task->train_feeder(shuffled);
    if (plan.task->test_samples() > 0)
        plan.test_feeder = plan.task->test_feeder(sampling(plan.task->test_samples()));
    const bool scales_loss = settings.products == ComputeType::float16;
    const auto built = [&](std::int64_t batch) {
        return plan.task->build(
            batch, settings.optimizer,
            {.real = communicator.size(),
             .virtual_ones = settings.virtual_ranks,
             .one_copy = settings.one_copy,
             .local_sgd = settings.local_sgd,
             .loss_scaling = scales_loss ? std::optional(settings.loss_scaling) : std::nullopt,
             .by_servers = by_servers},
            with_steps(settings.adjust, plan.train_feeder->steps()));
    };
    const auto whole = plan.train_feeder->local_batch();
    const auto last = plan.train_feeder->last_batch();
    plan.model = built(whole);
    if (last > 0 && last < whole) plan.last_model = built(last);
    return plan;
}

std::map<std::string, std::string> job_fields(const TrainingPlan& plan) {
    std::map<std::string, std::string> fields{
        {"model", plan.model.description},
        {"optimizer", name_of(plan.settings.optimizer)},
        {"global_batch", std::to_string(plan.global_batch)},
        {"seed", std::to_string(plan.settings.seed)},
        {"data", fmt::format("{} samples ({:016x})", plan.task->train_samples(), plan.task->fingerprint())}};
    if (plan.settings.last_batch != LastBatch::repeat)
        fields["last_batch"] = name_of(plan.settings.last_batch);
    return fields;
}

Trainer::Trainer(TrainingPlan plan, Communicator communicator, const Options& options,
                 std::unique_ptr<ServerConnection> servers)
    : communicator_(std::move(communicator)),
      servers_(std::move(servers)),
      is_async_(servers_ && servers_->mode() != ServerMode::sync),
      leaves_out_not_finite_(options.leaves_out_not_finite),
      job_(job_fields(plan)),
      task_(std::move(plan.task)),
      seed_(plan.settings.seed),
      loop_(plan.parts),
      global_batch_(plan.global_batch),
      train_feeder_(std::move(plan.train_feeder)),
      test_feeder_(std::move(plan.test_feeder)),
      model_(std::move(plan.model)),
      state_(plan.settings.one_copy ? State(model_.train, seed_, communicator_)
             : servers_             ? placed(State(model_.train, seed_), plan.settings, communicator_)
                                    : State(model_.train, seed_)),
      trainer_(model_.train, state_, servers_ ? Communicator() : communicator_,
               training_options(plan.settings, options)),
      tester_(model_.test, state_, {},
              {.device = plan.settings.device,
               .threads = options.threads,
               .memory_optimize = plan.settings.memory_optimize,
               .keep = kept_in_tests(model_, plan.settings),
               .products = plan.settings.products,
               .servers = link_of(servers_)}) {
    if (plan.last_model)
        last_trainer_.emplace(plan.last_model->train, state_, Communicator(),
                              training_options(plan.settings, options));
    train_feeder_->bind(trainer_);
    if (test_feeder_) test_feeder_->bind(tester_);
    if (servers_) servers_->pull_parameters(state_);
}

ExecutorOptions Trainer::training_options(const TrainSettings& settings, const Options& options) const {
    return {.device = settings.device,
            .nccl = settings.nccl,
            .threads = options.threads,
            .memory_optimize = settings.memory_optimize,
            .skip_grads = servers_ != nullptr,
            .keep = kept_in_training(model_, settings),
            .profile = options.profile,
            .products = settings.products,
            .servers = link_of(servers_)};
}

void Trainer::synchronize_with_servers() {
    if (!is_async_) return;
    servers_->finish();
    communicator_.barrier();
    servers_->pull_parameters(state_);
    communicator_.barrier();
}

void Trainer::synchronize() {
    synchronize_with_servers();
    trainer_.average_state();
}

void Trainer::begin_day(bool shrinks) {
    synchronize_with_servers();
    if (communicator_.rank() == 0) servers_->begin_day(static_cast<std::uint32_t>(epochs_done()), shrinks);
    communicator_.barrier();
}

void Trainer::leave_servers() {
    if (servers_) servers_->leave();
}

std::unique_ptr<checkpoint::CheckpointWriter> Trainer::checkpoints(const CheckpointSettings& settings) {
    auto synchronize = [this] { this->synchronize(); };
    if (!servers_)
        return std::make_unique<checkpoint::Checkpointer>(
            CheckpointFolder(settings.dir.value(), settings.run), settings.files, state_, communicator_,
            synchronize);
    return std::make_unique<model::ServerCheckpointer>(
        model::ServerCheckpointSettings{.dir = settings.dir.value(),
                                        .run = settings.run,
                                        .files = settings.files,
                                        .full_every = settings.full_every},
        *servers_, state_, communicator_, synchronize);
}

void Trainer::add_metrics(const Executor& executor, double loss, Sums& sums) const {
    sums.loss += loss;
    if (!model_.correct.empty()) sums.correct += executor.fetch_scalar(model_.correct);
}

void Trainer::add_training_metrics(Executor& executor) {
    const double loss = executor.fetch_scalar(model_.loss_sum);
    const auto weights = executor.feed<float>(fed_weight);
    if (leaves_out_not_finite_ && !std::isfinite(loss)) {
        sums_.left_out += std::accumulate(weights.begin(), weights.end(), 0.0);
        return;
    }
    add_metrics(executor, loss, sums_);
    loss_so_far_ += loss;
    samples_so_far_ += static_cast<std::int64_t>(weights.size());
}

std::optional<double> Trainer::loss_so_far() const {
    if (samples_so_far_ == 0) return std::nullopt;
    return loss_so_far_ / static_cast<double>(samples_so_far_);
}

void Trainer::add_scores(std::vector<ScoredSample>& scored) {
    if (model_.scores.empty()) return;
    model::add_scored(scored, tester_.fetch(model_.scores), tester_.feed<float>(model_.labels),
                      tester_.feed<float>(fed_weight));
}

/// The last step of an epoch may have a smaller batch, or none.
Executor* Trainer::executor_of(std::int64_t step) {
    const bool is_last = step + 1 == steps_per_epoch();
    if (is_last && train_feeder_->last_batch() == 0) {
        servers_->skip_step(state_);
        return nullptr;
    }
    if (!is_last || !last_trainer_) return &trainer_;
    train_feeder_->bind(*last_trainer_);
    return &*last_trainer_;
}

void Trainer::prefetch_rows() {
    if (!servers_) return;
    if (const auto next = train_feeder_->ahead()) servers_->prefetch(next->table, next->ids);
}

void Trainer::settle_waits() {
    if (watches_waits_)
        loop_.phases().settle(communicator_);
    else
        loop_.phases().forget_exchanges();
}

Metrics Trainer::metrics_of(const Sums& sums, std::int64_t samples) const {
    std::array<double, 3> all{sums.loss, sums.correct, sums.left_out};
    communicator_.allreduce_sum(std::span<double>(all));
    const auto count = static_cast<double>(samples) - all[2];
    Metrics metrics{
        .loss = all[0] / count, .samples = samples, .left_out = static_cast<std::int64_t>(all[2])};
    if (!model_.correct.empty()) metrics.accuracy = all[1] / count;
    return metrics;
}

std::optional<Metrics> Trainer::train_epoch(const std::function<bool()>& goes_on) {
    loss_so_far_ = 0;
    samples_so_far_ = 0;
    const bool is_complete = loop_.run_epoch(
        *train_feeder_, {.executor = [this](std::int64_t step) { return executor_of(step); },
                         .fed = [this] { prefetch_rows(); },
                         .computed = [this](Executor& executor) { add_training_metrics(executor); },
                         .goes_on = [&](std::int64_t done) { return done == steps_per_epoch() || goes_on(); },
                         .settle = [this] { settle_waits(); }});
    if (!is_complete) return std::nullopt;
    if (last_trainer_) train_feeder_->bind(trainer_);
    const auto metrics = metrics_of(sums_, train_feeder_->real_samples());
    train::check_loss(metrics.loss, epochs_done() + 1, communicator_);
    loop_.end_epoch();
    sums_ = {};
    synchronize();
    train::check_parameters(state_, epochs_done(), communicator_);
    return metrics;
}

std::optional<Metrics> Trainer::test() {
    if (!test_feeder_) return std::nullopt;
    test_feeder_->start(0, 0);
    Sums sums;
    std::vector<ScoredSample> scored;
    for (std::int64_t batch = 0; batch < test_feeder_->steps() * test_feeder_->parts(); ++batch) {
        test_feeder_->feed();
        tester_.run();
        add_metrics(tester_, tester_.fetch_scalar(model_.loss_sum), sums);
        add_scores(scored);
    }
    auto metrics = metrics_of(sums, test_feeder_->real_samples());
    if (!model_.scores.empty()) metrics.auc = exact_auc(scored, communicator_);
    return metrics;
}

}  // namespace dtrain::native
