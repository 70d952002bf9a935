// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_training.hpp"

#include <algorithm>
#include <map>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "kernels/functors/optimizer_info.hpp"
#include "native/job_products.hpp"

namespace dtrain::native {
namespace {

constexpr std::int64_t max_virtual_ranks = 1 << 20;

constexpr Range positive{1e-30, 1e30, "a number above 0 and below 1e30"};
constexpr Range any_number{-1e30, 1e30, "a number from -1e30 to below 1e30"};
constexpr Range fraction{0, 1, "a number from 0 to below 1"};

using Keys = std::vector<std::string>;

/// Maps each choice to the keys that apply to it.
using Choices = std::map<std::string, Keys>;

Keys words_of(const Choices& choices) {
    Keys words;
    for (const auto& [word, keys] : choices) words.push_back(word);
    return words;
}

/// The keys of all choices, without duplicates.
Keys keys_of(const Choices& choices) {
    Keys all;
    for (const auto& [word, keys] : choices)
        for (const auto& key : keys)
            if (std::ranges::find(all, key) == all.end()) all.push_back(key);
    return all;
}

Keys joined(Keys first, const Keys& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
}

/// Rejects keys that apply only to choices other than the one made.
void refuse_others_keys(const Section& section, const std::string& what, const std::string& chosen,
                        const Choices& choices) {
    for (const auto& key : keys_of(choices)) {
        const auto& own = choices.at(chosen);
        if (!section.has(key) || std::ranges::find(own, key) != own.end()) continue;
        std::string owners;
        for (const auto& [word, keys] : choices)
            if (std::ranges::find(keys, key) != keys.end())
                owners += fmt::format("{}\"{}\"", owners.empty() ? "" : " or ", word);
        section.fail(
            key, fmt::format("'{}' is a setting of {} = {}, but it is \"{}\"", key, what, owners, chosen));
    }
}

Choices all_optimizers() {
    Choices optimizers;
    kernels::UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        auto& keys = optimizers[std::string(Rule::type)];
        kernels::for_each_setting<Rule>([&](const auto& setting) { keys.emplace_back(setting.key()); });
    });
    return optimizers;
}

const Choices optimizers = all_optimizers();

const Range& range_of(kernels::Limits limits) {
    switch (limits) {
        case kernels::Limits::positive:
            return positive;
        case kernels::Limits::fraction:
            return fraction;
        case kernels::Limits::not_negative:
            break;
    }
    return not_negative;
}

/// Not inlined: GCC 12 takes the branch for settings that are no truths for one that reads them
/// uninitialised.
[[gnu::noinline]] void read_truth(const Section& train, std::string_view key, bool& truth) {
    truth = train.truth(key, truth);
}

Optimizer read_kind(const Section& train, const std::string& name) {
    Optimizer optimizer;
    kernels::UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        if (Rule::type != name) return;
        typename Rule::Settings settings;
        kernels::for_each_setting<Rule>([&](const auto& setting) {
            if (setting.truth != nullptr) {
                read_truth(train, setting.key(), settings.*setting.truth);
            } else {
                auto& number = settings.*setting.number;
                number = train.number(setting.key(), number, range_of(setting.limits_of_key()));
            }
        });
        optimizer = settings;
    });
    return optimizer;
}

Optimizer read_optimizer(const Section& train) {
    const auto name = train.one_of("optimizer", "adam", words_of(optimizers));
    refuse_others_keys(train, "optimizer", name, optimizers);
    auto optimizer = read_kind(train, name);
    std::visit(
        [&](auto& settings) {
            settings.learning_rate = train.number("learning_rate", settings.learning_rate, positive);
        },
        optimizer);
    return optimizer;
}

const Choices schedules{{"constant", {}},
                        {"cosine", {"epochs"}},
                        {"exponential", {"decay_steps", "decay_rate", "staircase"}},
                        {"inverse_time", {"decay_steps", "decay_rate", "staircase"}},
                        {"natural_exp", {"decay_steps", "decay_rate", "staircase"}},
                        {"noam", {"d_model", "noam_steps"}},
                        {"piecewise", {"boundaries", "values"}},
                        {"polynomial", {"decay_steps", "end", "power", "cycle"}}};

template <class Settings>
Settings read_periodic(const Section& schedule) {
    Settings settings;
    settings.decay_steps = schedule.number("decay_steps", settings.decay_steps, positive);
    settings.decay_rate = schedule.number("decay_rate", settings.decay_rate, not_negative);
    settings.staircase = schedule.truth("staircase", settings.staircase);
    return settings;
}

PiecewiseRate read_piecewise(const Section& schedule) {
    PiecewiseRate settings{schedule.wholes("boundaries", {}, 1, max_whole),
                           schedule.numbers("values", {}, not_negative)};
    if (!std::ranges::is_sorted(settings.boundaries, std::ranges::less_equal()))
        schedule.fail("boundaries", "the numbers of 'boundaries' must grow");
    if (settings.values.size() != settings.boundaries.size() + 1)
        schedule.fail("values",
                      fmt::format("'values' has {} numbers for {} of 'boundaries'; it must be one more",
                                  settings.values.size(), settings.boundaries.size()));
    return settings;
}

Decay read_decay_of_rate(const Section& schedule, const std::string& kind, std::int64_t epochs) {
    if (kind == "constant") return ConstantRate{};
    if (kind == "exponential") return read_periodic<ExponentialDecay>(schedule);
    if (kind == "natural_exp") return read_periodic<NaturalExpDecay>(schedule);
    if (kind == "inverse_time") return read_periodic<InverseTimeDecay>(schedule);
    if (kind == "piecewise") return read_piecewise(schedule);
    if (kind == "cosine") return CosineDecay{.epochs = schedule.whole("epochs", epochs, 1, max_whole)};
    if (kind == "noam") {
        NoamDecay settings;
        settings.d_model = schedule.whole("d_model", settings.d_model, 1, max_whole);
        settings.warmup_steps = schedule.whole("noam_steps", settings.warmup_steps, 1, max_whole);
        return settings;
    }
    PolynomialDecay settings;
    settings.decay_steps = schedule.number("decay_steps", settings.decay_steps, positive);
    settings.end = schedule.number("end", settings.end, not_negative);
    settings.power = schedule.number("power", settings.power, not_negative);
    settings.cycle = schedule.truth("cycle", settings.cycle);
    return settings;
}

std::optional<LearningRateSchedule> read_schedule(const Section& train, double learning_rate,
                                                  std::int64_t epochs) {
    const auto schedule =
        train.section("schedule", joined({"kind", "warmup_steps", "warmup_start"}, keys_of(schedules)));
    if (!train.has("schedule")) return std::nullopt;
    const auto kind = schedule.one_of("kind", "constant", words_of(schedules));
    refuse_others_keys(schedule, "kind", kind, schedules);
    LearningRateSchedule read{read_decay_of_rate(schedule, kind, epochs)};
    std::visit(
        [&](auto& settings) {
            if constexpr (requires { settings.learning_rate; }) settings.learning_rate = learning_rate;
        },
        read.decay);
    if (const auto* piecewise = std::get_if<PiecewiseRate>(&read.decay)) {
        if (train.has("learning_rate"))
            train.fail("learning_rate",
                       "'learning_rate' and kind = \"piecewise\" exclude each other: 'values' are the rates");
        learning_rate = piecewise->values.front();
    }
    if (schedule.has("warmup_steps"))
        read.warmup = LinearWarmup{.steps = schedule.whole("warmup_steps", 1, 1, max_whole),
                                   .start = schedule.number("warmup_start", 0, not_negative),
                                   .end = learning_rate};
    else if (schedule.has("warmup_start"))
        schedule.fail("warmup_start", "'warmup_start' needs 'warmup_steps'");
    return read;
}

const Choices clippings{{"global_norm", {"norm"}}, {"norm", {"norm"}}, {"value", {"min", "max"}}};

Clipping read_clipping(const Section& train) {
    const auto clip = train.section("clip", joined({"by"}, keys_of(clippings)));
    if (!train.has("clip")) return NoClipping{};
    if (!clip.has("by")) clip.fail("by", "[train.clip] needs by = \"value\", \"norm\" or \"global_norm\"");
    const auto by = clip.one_of("by", "", words_of(clippings));
    refuse_others_keys(clip, "by", by, clippings);
    if (by == "value") {
        ClipByValue limits;
        limits.min = clip.number("min", limits.min, any_number);
        limits.max = clip.number("max", limits.max, any_number);
        if (limits.min >= limits.max)
            clip.fail("min",
                      fmt::format("'min' is {} and 'max' {}; it must be below", limits.min, limits.max));
        return limits;
    }
    const auto norm = clip.number("norm", 1, positive);
    if (by == "norm") return ClipByNorm{norm};
    return ClipByGlobalNorm{norm};
}

Regularisation read_decay(const Section& train) {
    const auto decay = train.section("decay", {"kind", "coefficient"});
    if (!train.has("decay")) return NoDecay{};
    for (const auto* key : {"kind", "coefficient"})
        if (!decay.has(key))
            decay.fail(key, "[train.decay] needs kind = \"l1\" or \"l2\", and a coefficient");
    const auto kind = decay.one_of("kind", "", {"l1", "l2"});
    const auto coefficient = decay.number("coefficient", 0, not_negative);
    if (kind == "l1") return L1Decay{coefficient};
    return L2Decay{coefficient};
}

void read_ranks(const Section& train, TrainSettings& settings) {
    settings.virtual_ranks = static_cast<int>(train.whole("virtual_ranks", 0, 1, max_virtual_ranks));
    settings.local_sgd = train.whole("local_sgd", 0, 1, max_whole);
    if (settings.local_sgd > 0)
        for (const auto* key : {"virtual_ranks", "one_copy"})
            if (train.has(key))
                train.fail(
                    "local_sgd",
                    fmt::format("'local_sgd' and '{}' exclude each other: each rank updates parameters of "
                                "its own with its own gradients",
                                key));
    settings.one_copy = train.truth("one_copy", false);
    if (!settings.one_copy) return;
    for (const auto* key : {"virtual_ranks", "clip", "decay"})
        if (train.has(key))
            train.fail("one_copy",
                       fmt::format("'one_copy' and '{}' exclude each other: each rank updates its "
                                   "share of the parameters right after adding the gradients",
                                   key));
}

/// Rejects settings that local SGD excludes. Call after all other keys are read.
void refuse_beside_local_sgd(const Section& train, const TrainSettings& settings) {
    if (settings.local_sgd == 0) return;
    if (settings.products == ComputeType::float16)
        train.fail(
            "local_sgd",
            "'local_sgd' and matmul = \"float16\" exclude each other: with a scaled loss steps are left "
            "out, on each rank other ones; use \"bfloat16\" or \"float32\"");
    kernels::with_rule(settings.optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto&) {
        if (!Rule::refuses_averages.empty())
            train.fail("local_sgd", fmt::format("'local_sgd' and optimizer = \"{}\" exclude each other: {}",
                                                Rule::type, Rule::refuses_averages));
    });
}

}  // namespace

TrainSettings read_training(const Section& top) {
    const auto train = top.section(
        "train", joined({"epochs", "batch", "global_batch", "virtual_ranks", "one_copy", "local_sgd",
                         "matmul", "loss_scale", "device", "nccl", "memory_optimize", "last_batch", "seed",
                         "optimizer", "learning_rate", "schedule", "clip", "decay"},
                        keys_of(optimizers)));
    TrainSettings settings;
    settings.epochs = train.whole("epochs", settings.epochs, 1, max_whole);
    settings.batch = train.whole("batch", settings.batch, 1, max_size);
    if (train.has("global_batch")) {
        if (train.has("batch"))
            train.fail("batch", "'batch' (per rank) and 'global_batch' (of all ranks) exclude each other");
        settings.global_batch = train.whole("global_batch", 0, 1, max_size);
    }
    read_ranks(train, settings);
    settings.products = read_products(train);
    settings.loss_scaling = read_loss_scaling(train, settings.products);
    settings.device = train.device("device");
    settings.nccl = train.truth("nccl", false);
    settings.memory_optimize = train.truth("memory_optimize", false);
    settings.last_batch =
        train.choice("last_batch", settings.last_batch,
                     {LastBatch::repeat, LastBatch::random, LastBatch::drop, LastBatch::uneven},
                     [](LastBatch last_batch) { return name_of(last_batch); });
    settings.seed = static_cast<std::uint64_t>(train.whole("seed", 0, 0, max_whole));
    settings.optimizer = read_optimizer(train);
    refuse_beside_local_sgd(train, settings);
    settings.adjust.schedule = read_schedule(train, learning_rate_of(settings.optimizer), settings.epochs);
    settings.adjust.clipping = read_clipping(train);
    settings.adjust.regularisation = read_decay(train);
    return settings;
}

std::optional<std::string> excludes_servers(const TrainSettings& settings) {
    if (settings.virtual_ranks > 0) return "virtual_ranks";
    if (settings.one_copy) return "one_copy";
    if (settings.local_sgd > 0) return "local_sgd";
    return std::nullopt;
}

}  // namespace dtrain::native
