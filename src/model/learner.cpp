// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/learner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <dtrain/passes.hpp>

#include "base/text.hpp"
#include "kernels/functors/optimizer_info.hpp"
#include "model/batch_sums.hpp"
#include "model/gather_times.hpp"
#include "model/together.hpp"
#include "program/device/compute_device.hpp"
#include "program/device/gpu_choice.hpp"
#include "program/optim/fed_rate.hpp"

namespace dtrain::model {
namespace {

std::vector<std::string> without_empty(std::vector<std::string> names) {
    std::erase(names, "");
    return names;
}

/// Variables that are fetched after each batch.
std::vector<std::string> fetched_of(const LossProgram& made) {
    return without_empty({made.loss_sum, made.correct, made.scores});
}

void check_products(const ModelOptions& options) {
    const auto device = program::device_to_use(options.device, Environment::of_this_process());
    if (options.products == ComputeType::float16 && !device.is_gpu())
        throw UsageError(
            "products of float16: only GPUs multiply float16; choose one (device \"gpu\", or "
            "DTRAIN_DEVICE=gpu), or bfloat16 or float32");
    if (options.products == ComputeType::bfloat16 && !device.is_gpu() && !has_bfloat16_products())
        throw UsageError(fmt::format("products of bfloat16: {}; choose float32", why_no_bfloat16_products()));
}

void check_local_sgd(const ModelOptions& options) {
    if (options.local_sgd < 0)
        throw UsageError(
            fmt::format("local_sgd is {}; it must be 1 or more steps, or 0 for none", options.local_sgd));
    if (options.local_sgd == 0) return;
    if (options.virtual_ranks != 0)
        throw UsageError(
            fmt::format("local_sgd is {} and virtual_ranks {}; they exclude each other: virtual ranks add "
                        "their gradients in every step",
                        options.local_sgd, options.virtual_ranks));
    if (options.products == ComputeType::float16)
        throw UsageError(fmt::format(
            "local_sgd is {} and products are of float16, whose scaled loss leaves out steps, on each rank "
            "other ones; choose bfloat16 or float32",
            options.local_sgd));
}

}  // namespace

Learner::Learner(ModelSpec spec, ModelOptions options)
    : spec_(std::move(spec)), options_(std::move(options)) {
    const auto all = options_.communicator;
    together(all, [&] {
        if (!spec_.network) throw UsageError("a model needs a network; the function given is empty");
        if (spec_.inputs.empty()) throw UsageError("a model needs one input at least");
        check_local_sgd(options_);
        if (options_.servers) check_servers(options_);
    });
    if (options_.servers) {
        servers_ = std::make_unique<Servers>(options_);
        options_.communicator = servers_->peers();
    }
    const auto& communicator = options_.communicator;
    together(all, [&] {
        if (!servers_ || !servers_->serves()) check_products(options_);
        loop_.emplace(train::parts_of(communicator.rank(), communicator.size(), options_.virtual_ranks));
        network_ = checked_network(spec_);
    });
}

LossProgram Learner::minimized(std::int64_t local_batch, const Optimizer& optimizer, const Loss& loss,
                               const std::vector<Metric>& metrics, const OptimizerOptions& adjust,
                               bool feeds_rate) const {
    auto made = loss_program(spec_, loss, metrics, local_batch);
    if (feeds_rate)
        program::minimize_at_fed_rate(made.program, made.loss, optimizer, adjust);
    else
        minimize(made.program, made.loss, optimizer, adjust);
    if (options_.products == ComputeType::float16)
        made.program = with_loss_scaling(made.program, options_.loss_scaling);
    return made;
}

Program Learner::shared(Program minimized) const {
    const auto ranks = options_.communicator.size();
    if (servers_) return servers_->trainer_program(minimized);
    if (parts().are_virtual) return with_virtual_ranks(minimized, parts().ranks);
    if (options_.local_sgd > 0)
        return with_local_sgd(minimized, {.ranks = ranks, .every = options_.local_sgd});
    return data_parallel(minimized, {.ranks = ranks});
}

LossProgram Learner::training_program(std::int64_t local_batch) const {
    const auto& p = *prepared_;
    auto made = minimized(local_batch, p.optimizer, p.loss, p.metrics, p.adjust, p.rate.has_value());
    made.program = shared(std::move(made.program));
    return made;
}

void Learner::prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                      const OptimizerOptions& adjust) {
    Program program;
    auto job = job_fields(spec_, network_, loss, optimizer);
    together(servers_ && !servers_->have_started() ? servers_->world() : options_.communicator, [&] {
        auto whole = minimized(1, optimizer, loss, metrics, adjust, false).program;
        if (servers_) servers_->prepare(whole, job);
        if (!servers_ || !servers_->serves()) program = shared(std::move(whole));
    });
    State state(program, options_.seed);
    if (!servers_ || !servers_->serves())
        together(options_.communicator,
                 [&] { program::place(state, options_.device, options_.communicator); });
    trainer_.reset();
    tester_.reset();
    predictor_.reset();
    prepared_.emplace(Prepared{optimizer, loss, metrics, adjust, std::move(job), std::move(state)});
    loop_->go_on_from({});
}

void Learner::check_prepared(const char* caller) const {
    if (!prepared_)
        throw NotPreparedError(
            fmt::format("{}(): the model has no loss and no optimizer yet; call prepare() first", caller));
    if (servers_ && servers_->serves())
        throw UsageError(
            fmt::format("{}(): this rank is a parameter server, and only the others train; write 'if "
                        "(model.serve()) return 0;' behind prepare()",
                        caller));
}

bool Learner::serve() {
    if (!prepared_) check_prepared("serve");
    if (!servers_ || !servers_->serves()) return false;
    servers_->serve();
    return true;
}

void Learner::check_prepared_together(const char* caller) const {
    together(options_.communicator, [&] { check_prepared(caller); });
}

void Learner::check(const Samples& samples, Fed fed, std::int64_t batch_size) const {
    std::int64_t count = 0;
    together(options_.communicator, [&] {
        if (batch_size < parts().ranks)
            throw UsageError(fmt::format("batch_size is {}; a step needs {} at least, one for each{} rank",
                                         batch_size, counted(parts().ranks, "sample"),
                                         parts().are_virtual ? " virtual" : ""));
        count = checked_count(samples, spec_, fed);
    });
    if (options_.communicator.all_have(count)) return;
    const auto counts = options_.communicator.all_gather(count);
    throw_together(
        options_.communicator,
        fmt::format("rank 0 has {} samples, but this is not so on all ranks ({} to {}); every rank must "
                    "have all samples",
                    counts[0], *std::ranges::min_element(counts), *std::ranges::max_element(counts)));
}

DistributedSampler::Options Learner::sampling(std::int64_t samples, std::int64_t batch_size) const {
    return {.samples = samples,
            .global_batch = batch_size,
            .rank = parts().first,
            .ranks = parts().ranks,
            .seed = options_.seed,
            .order = SampleOrder::sequential,
            .parts = parts().own};
}

std::unique_ptr<train::Feeder> Learner::training_feeder(const Samples& samples,
                                                        const FitOptions& options) const {
    auto dealt = sampling(checked_count(samples, spec_, Fed::all), options.batch_size);
    if (options.shuffle) dealt.order = SampleOrder::shuffled;
    if (options.last_batch == LastBatch::uneven)
        throw UsageError(
            "FitOptions::last_batch: with uneven steps trainers take different numbers of them, and those of "
            "a Model take the same; use repeat, random or drop");
    dealt.last_batch = options.last_batch;
    std::unique_ptr<train::Feeder> feeder;
    together(options_.communicator, [&] { feeder = feeder_of(samples, spec_, Fed::all, dealt); });
    return feeder;
}

ExecutorOptions Learner::executor_options(const std::vector<std::string>& keep) const {
    return {.device = options_.device,
            .nccl = options_.nccl,
            .threads = options_.threads,
            .memory_optimize = options_.memory_optimize,
            .keep = keep,
            .products = options_.products,
            .servers = servers_ ? servers_->connect(prepared_->state).link() : nullptr};
}

bool Learner::has_trainer(std::int64_t local_batch) const {
    return trainer_ && trainer_->local_batch == local_batch &&
           trainer_->rate.empty() == !prepared_->rate.has_value();
}

Learner::Compiled& Learner::trainer(std::int64_t local_batch) {
    if (has_trainer(local_batch)) return *trainer_;
    const auto& p = *prepared_;
    auto made = training_program(local_batch);
    const auto kept = options_.memory_optimize ? fetched_of(made) : without_empty({made.scores});
    auto executing = executor_options(kept);
    executing.skip_grads = servers_ != nullptr;
    Executor executor(made.program, p.state, servers_ ? Communicator() : options_.communicator, executing);
    const auto rate = p.rate ? executor.feed<float>(program::fed_rate) : std::span<float>();
    return trainer_.emplace(Compiled{local_batch, std::move(made), {}, std::move(executor), rate});
}

Learner::Compiled& Learner::tester(std::int64_t local_batch) {
    if (tester_ && tester_->local_batch == local_batch) return *tester_;
    auto made = servers_ ? training_program(local_batch)
                         : loss_program(spec_, prepared_->loss, prepared_->metrics, local_batch);
    const auto fetched = fetched_of(made);
    made.program = for_test(made.program, fetched);
    Executor executor(made.program, prepared_->state, {}, executor_options(fetched));
    return tester_.emplace(Compiled{local_batch, std::move(made), {}, std::move(executor)});
}

Learner::Compiled& Learner::predictor(std::int64_t local_batch) {
    if (predictor_ && predictor_->local_batch == local_batch) return *predictor_;
    auto made = network_program(spec_, local_batch);
    if (servers_) made.program = training_program(local_batch).program;
    Executor executor(for_test(made.program, {made.output}), prepared_->state, {},
                      executor_options({made.output}));
    return predictor_.emplace(Compiled{local_batch, {}, made.output, std::move(executor)});
}

Metrics Learner::train_epoch(train::Feeder& feeder,
                             const std::function<void(std::int64_t done, double loss)>& after_step) {
    const auto local_batch = feeder.local_batch();
    const auto& communicator = options_.communicator;
    BatchSums sums(feeder.steps(), parts());
    loop_->run_epoch(feeder, {.executor =
                                  [&](std::int64_t step) {
                                      const bool is_bound =
                                          step > 0 && has_trainer(local_batch);  // not after a new rate
                                      auto& now = trainer(local_batch);
                                      if (!is_bound) feeder.bind(now.executor);
                                      if (!now.rate.empty())
                                          now.rate.front() = static_cast<float>(*prepared_->rate);
                                      return &now.executor;
                                  },
                              .computed = [&](Executor& executor) { sums.add(executor, trainer_->names); },
                              .goes_on =
                                  [&](std::int64_t done) {
                                      if (after_step) after_step(done, sums.loss_so_far(local_batch));
                                      return true;
                                  },
                              .settle =
                                  [&] {
                                      if (servers_)
                                          loop_->phases().forget_exchanges();
                                      else
                                          loop_->phases().settle(communicator);
                                  }});
    loop_->end_epoch();
    trainer_->executor.average_state();
    if (servers_) servers_->synchronize(prepared_->state);
    auto metrics = sums.means(prepared_->metrics, feeder.real_samples(), communicator);
    train::check_loss(metrics.loss, epochs(), communicator);
    train::check_parameters(prepared_->state, epochs(), communicator);
    return metrics;
}

Metrics Learner::evaluate(const Samples& samples, std::int64_t batch_size) {
    const auto count = checked_count(samples, spec_, Fed::all);
    const auto feeder = feeder_of(samples, spec_, Fed::all, sampling(count, batch_size));
    auto& [local_batch, names, output, executor, rate] = tester(feeder->local_batch());
    feeder->bind(executor);
    feeder->start(0, 0);
    BatchSums sums(feeder->steps(), parts());
    for (std::int64_t batch = 0; batch < feeder->steps() * feeder->parts(); ++batch) {
        feeder->feed();
        executor.run();
        sums.add(executor, names);
    }
    return sums.means(prepared_->metrics, feeder->real_samples(), options_.communicator);
}

Predictions Learner::predict(const Samples& samples, std::int64_t batch_size) {
    const auto count = checked_count(samples, spec_, Fed::inputs);
    const auto dealt = sampling(count, batch_size);
    const auto feeder = feeder_of(samples, spec_, Fed::inputs, dealt);
    auto& [local_batch, names, output, executor, rate] = predictor(feeder->local_batch());
    feeder->bind(executor);
    feeder->start(0, 0);
    DistributedSampler sampler(dealt);
    Predictions made{.shape = executor.program().variable(output).shape, .values = {}};
    made.shape[0] = count;
    const auto width = static_cast<std::size_t>(element_count(made.shape) / count);
    // Every element is nonzero on only one rank: summing the bit patterns as integers is exact.
    std::vector<std::int32_t> bits(static_cast<std::size_t>(element_count(made.shape)), 0);
    for (std::int64_t number = 0; number < sampler.batches(); ++number) {
        feeder->feed();
        executor.run();
        const auto values = executor.fetch(output);
        const auto batch = sampler.batch(number);
        for (std::size_t row = 0; row < batch.samples.size(); ++row)
            if (batch.weights[row] > 0)
                std::ranges::transform(values.subspan(row * width, width),
                                       bits.begin() + batch.samples[row] * static_cast<std::int64_t>(width),
                                       [](float value) { return std::bit_cast<std::int32_t>(value); });
    }
    options_.communicator.allreduce(std::span(bits));
    made.values.resize(bits.size());
    std::ranges::transform(bits, made.values.begin(),
                           [](std::int32_t value) { return std::bit_cast<float>(value); });
    return made;
}

std::vector<metrics::RankTimes> Learner::gather_times(double seconds) const {
    const bool sees = !trainer_ || trainer_->executor.sees_exchanges();
    return model::gather_times(options_.communicator, loop_->phases().times(), seconds,
                               {.sees = sees, .compares = servers_ == nullptr},
                               servers_ ? servers_->first_trainer() : 0);
}

std::optional<double> Learner::learning_rate() const {
    if (prepared_->adjust.schedule) return std::nullopt;
    if (prepared_->rate) return prepared_->rate;
    return kernels::learning_rate_of(prepared_->optimizer);
}

void Learner::set_learning_rate(double rate) {
    if (prepared_->adjust.schedule)
        throw UsageError(
            fmt::format("set_learning_rate({}): the program computes its learning rate itself, as prepare() "
                        "was given OptimizerOptions::schedule; leave that out to set rates",
                        rate));
    if (servers_)
        throw UsageError(
            fmt::format("set_learning_rate({}): parameter servers update with the rate that prepare() was "
                        "given; for one that changes give it OptimizerOptions::schedule",
                        rate));
    if (!std::isfinite(rate) || rate < 0)
        throw UsageError(
            fmt::format("set_learning_rate({}): a learning rate is a finite number of 0 or more", rate));
    prepared_->rate = rate;
}

void Learner::keep(const std::string& name, std::vector<double> numbers) {
    const bool is_name =
        !name.empty() && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '/'; });
    if (!is_name || numbers.empty())
        throw UsageError(
            fmt::format("keep(): '{}' with {}; it takes a name in ASCII without '/', and one number at least",
                        name, counted(numbers.size(), "number")));
    prepared_->kept[name] = std::move(numbers);
}

std::optional<std::vector<double>> Learner::kept(const std::string& name) const {
    const auto found = prepared_->kept.find(name);
    return found == prepared_->kept.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Learner::metric_names() const {
    std::vector<std::string> names;
    for (const auto& metric : prepared_->metrics) names.push_back(name_of(metric));
    return names;
}

}  // namespace dtrain::model
