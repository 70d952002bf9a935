// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a table of texts and of what the description of job files in docs and examples says about them.
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "native/job_file.hpp"
#include "support/message_of.hpp"

namespace dtrain::native {
namespace {

constexpr const char* smallest = "[data]\ntrain = { file = \"d.h5\" }\n";

std::string refusal(const std::string& text) {
    return tests::message_of([&] { parse_job(text, "jobs/my.toml"); });
}

TEST(JobFile, SmallestJobHasTheDefaults) {
    const auto job = parse_job(smallest, "jobs/my.toml");
    EXPECT_EQ(job.title, "my");
    EXPECT_EQ(job.model, (ModelSettings{.hidden = {128, 64}, .activation = "relu"}));
    EXPECT_EQ(job.train_data, (DatasetSource{"jobs/d.h5", "x", "y", 1}));
    EXPECT_FALSE(job.test_data.has_value());
    EXPECT_EQ(job.train.epochs, 10);
    EXPECT_EQ(job.train.batch, 32);
    EXPECT_FALSE(job.train.global_batch.has_value());
    EXPECT_EQ(job.train.seed, 0U);
    EXPECT_EQ(name_of(job.train.optimizer), "adam");
    EXPECT_EQ(learning_rate_of(job.train.optimizer), 0.001);
    EXPECT_EQ(job.checkpoint,
              (CheckpointSettings{.dir = std::nullopt, .every = 1, .files = {.keep = 2, .async = true}}));
}

TEST(JobFile, EveryStepsIsInsteadOfEveryEpoch) {
    const auto settings =
        parse_job(std::string(smallest) + "[checkpoint]\nevery_steps = 7\n", "my.toml").checkpoint;
    EXPECT_EQ(settings.every_steps, 7);
    EXPECT_EQ(settings.every, std::nullopt);
}

TEST(JobFile, EveryMinutesIsInsteadOfEveryEpochToo) {
    const auto settings = [](const std::string& text) {
        return parse_job(std::string(smallest) + "[checkpoint]\n" + text, "my.toml").checkpoint;
    };
    EXPECT_EQ(settings("").every_minutes, std::nullopt);
    EXPECT_EQ(settings("every_minutes = 7").every_minutes, Minutes(7));
    EXPECT_EQ(settings("every_minutes = 0.5").every_minutes, Minutes(0.5));
    EXPECT_EQ(settings("every_minutes = 7").every, std::nullopt);
    const auto all = settings("every_minutes = 7\nevery_steps = 5\nevery = 2");
    EXPECT_EQ(all.every, 2);
    EXPECT_EQ(all.every_steps, 5);
    EXPECT_EQ(all.every_minutes, Minutes(7));
}

TEST(JobFile, SavesOfChanges) {
    const auto settings = [](const std::string& value) {
        return parse_job(std::string(smallest) + "[checkpoint]\nfull_every = " + value + "\n", "my.toml")
            .checkpoint;
    };
    EXPECT_EQ(settings("5").full_every, 5);
    EXPECT_EQ(settings("1"), CheckpointSettings());
    EXPECT_THROW(settings("0"), UsageError);
}

TEST(JobFile, EverythingSet) {
    const auto job = parse_job(R"(
title = "all"
[model]
hidden = [300, 200, 100]
activation = "tanh"
[data]
scale = 0.5
train = { file = "sub/a.h5", x = "g/x", y = "g/y" }
[data.test]
file = "/data/b.h5"
x = "images"
[train]
epochs = 3
global_batch = 96
seed = 17
optimizer = "adam"
learning_rate = 1
beta1 = 0.5
beta2 = 0.75
epsilon = 1e-6
[checkpoint]
dir = "out"
every = 4
every_steps = 100
keep = 5
async = false
format = "directory"
shards = 3
)",
                               "/jobs/all.toml");
    EXPECT_EQ(job.title, "all");
    EXPECT_EQ(job.model, (ModelSettings{.hidden = {300, 200, 100}, .activation = "tanh"}));
    EXPECT_EQ(job.train_data, (DatasetSource{"/jobs/sub/a.h5", "g/x", "g/y", 0.5F}));
    EXPECT_EQ(job.test_data, (DatasetSource{"/data/b.h5", "images", "y", 0.5F}));
    EXPECT_EQ(job.train.epochs, 3);
    EXPECT_EQ(job.train.global_batch, 96);
    EXPECT_EQ(job.train.seed, 17U);
    const auto& adam = std::get<Adam>(job.train.optimizer);
    EXPECT_EQ(adam.learning_rate, 1);
    EXPECT_EQ(adam.beta1, 0.5);
    EXPECT_EQ(adam.beta2, 0.75);
    EXPECT_EQ(adam.epsilon, 1e-6);
    EXPECT_EQ(job.checkpoint, (CheckpointSettings{"out", 4, 100, {.keep = 5, .async = false, .shards = 3}}));
}

TEST(JobFile, ClickThroughModels) {
    const std::string kind = "[model]\nkind = \"click_through\"\n";
    const auto job = parse_job(kind + "[data]\ntrain = { file = \"c.tsv\" }\n", "jobs/my.toml");
    EXPECT_EQ(job.model, (ModelSettings{.kind = ModelKind::click_through, .hidden = {64, 32}}));
    EXPECT_EQ(job.model.embedding, 16);
    EXPECT_EQ(job.click_columns, ClickLayout(ClickColumns{13, 26}));
    EXPECT_EQ(job.train_data.file, "jobs/c.tsv");
    EXPECT_FALSE(job.test_data.has_value());
    const auto other = parse_job(kind +
                                     "hidden = []\nembedding = 4\n[data]\nformat = \"criteo\"\n"
                                     "integers = 0\nslots = 8\nmemory = 100\n"
                                     "train = { file = \"a.gz\" }\ntest = { file = \"/b.gz\" }\n",
                                 "my.toml");
    EXPECT_EQ(other.model.embedding, 4);
    EXPECT_TRUE(other.model.hidden.empty());
    EXPECT_EQ(other.click_columns, ClickLayout(ClickColumns{0, 8}));
    EXPECT_EQ(other.test_data->file, "/b.gz");
    EXPECT_EQ(other.data_memory, 100);
    const auto refused = [&](const std::string& model, const std::string& data) {
        return refusal(model + "[data]\n" + data + "train = { file = \"c.tsv\" }\n");
    };
    EXPECT_EQ(refused(kind, "scale = 2\n"),
              "jobs/my.toml:4: [data] 'scale' is for [model] kind = \"classifier\"");
    EXPECT_EQ(refused(kind, "slots = 0\n"),
              "jobs/my.toml:4: [data] slots = 0: it must be a whole number in 1..4096");
    EXPECT_THAT(refused(kind, "format = \"hdf5\"\n"),
                testing::HasSubstr("it must be one of \"criteo\", \"csv\", \"svmlight\""));
    EXPECT_EQ(refused("", "slots = 8\n"),
              "jobs/my.toml:2: [data] 'slots' is for [model] kind = \"click_through\"");
    EXPECT_EQ(
        refused("[model]\nembedding = 8\n", ""),
        "jobs/my.toml:2: 'embedding' is a setting of kind = \"click_through\", but it is \"classifier\"");
    EXPECT_THAT(refused("[model]\nkind = \"click-through\"\n", ""),
                testing::HasSubstr("did you mean \"click_through\"?"));
    EXPECT_EQ(refusal(kind + "[data]\ntrain = { file = \"c.tsv\", x = \"x\" }\n"),
              "jobs/my.toml:4: unknown key 'x' in [data.train]; known are file");
}

TEST(JobFile, FormatsOfClickLogs) {
    const std::string kind = "[model]\nkind = \"click_through\"\n[data]\n";
    const auto columns_of = [&](const std::string& data) {
        return parse_job(kind + data, "jobs/my.toml").click_columns;
    };
    EXPECT_EQ(columns_of("train = { file = \"c.csv\" }\n"), ClickLayout(CsvClickColumns{}));
    EXPECT_EQ(columns_of("train = { file = \"C.CSV.gz\" }\ntest = { file = \"d.csv\" }\n"),
              ClickLayout(CsvClickColumns{}));
    for (const char* name : {"c.svm", "c.svmlight.gz", "c.libsvm"})
        EXPECT_EQ(columns_of(fmt::format("train = {{ file = \"{}\" }}\n", name)),
                  ClickLayout(SvmlightClickColumns{}));
    for (const char* name : {"c.txt", "c.tsv.gz", "day_0.gz"})
        EXPECT_EQ(columns_of(fmt::format("train = {{ file = \"{}\" }}\n", name)),
                  ClickLayout(ClickColumns{}));
    const std::string file = "train = { file = \"c\" }\n";
    EXPECT_EQ(columns_of(file + "format = \"csv\"\nlabel = 3\nnumbers = [\"age\", 2]\ncategories = []\n"
                                "separator = \"tab\"\nheader = false\n"),
              ClickLayout(CsvClickColumns{.label = "3",
                                          .numbers = {{"age", "2"}},
                                          .categories = {std::vector<std::string>()},
                                          .separator = '\t',
                                          .header = false}));
    EXPECT_EQ(columns_of(file + "format = \"svmlight\"\nnumbers = 2\nslots = 26\nfirst_id = 0\n"),
              ClickLayout(SvmlightClickColumns{.numbers = 2, .slots = 26, .first_id = 0}));
    EXPECT_EQ(columns_of(file + "format = \"svmlight\"\nnumbers = 2\nslots = [3, 100]\n"),
              ClickLayout(SvmlightClickColumns{.numbers = 2, .slot_ids = {3, 100}}));
}

TEST(JobFile, SettingsOfClickLogsThatDoNotFit) {
    const std::string kind = "[model]\nkind = \"click_through\"\n[data]\n";
    const auto refused = [&](const std::string& settings, const std::string& file = "c") {
        const auto message = refusal(kind + settings + "train = { file = \"" + file + "\" }\n");
        EXPECT_THAT(message, testing::StartsWith("jobs/my.toml:")) << settings;
        return message.substr(std::min(message.find(' ') + 1, message.size()));
    };
    const std::string csv = "format = \"csv\"\n", svmlight = "format = \"svmlight\"\n";
    EXPECT_EQ(
        refused("numbers = [2]\n"),
        "[data] 'numbers' is a setting of format = \"csv\" or \"svmlight\", but it is \"criteo\" by the "
        "name of the training log");
    EXPECT_EQ(refused(csv + "integers = 2\n"),
              "[data] 'integers' is a setting of format = \"criteo\", but it is \"csv\"");
    EXPECT_EQ(refused(csv + "slots = 2\n"),
              "[data] 'slots' is a setting of format = \"criteo\" or \"svmlight\", but it is \"csv\"");
    for (const char* key : {"categories = [1]", "label = 1", "separator = \";\"", "header = true"})
        EXPECT_THAT(refused(key + std::string("\n"), "c.svm"),
                    testing::HasSubstr("is a setting of format = \"csv\", but it is \"svmlight\""));
    EXPECT_EQ(refused("first_id = 0\n", "c.csv"),
              "[data] 'first_id' is a setting of format = \"svmlight\", but it is \"csv\" by the name of the "
              "training log");
    EXPECT_EQ(refused(csv + "numbers = 2\n"),
              "[data] numbers = 2: it must be a list of columns such as [\"age\", \"price\"] or [2, 3]");
    EXPECT_EQ(refused(csv + "categories = [\"a\", 0]\n"),
              "[data] categories = 0: it must be a column's name, or its number from 1");
    EXPECT_EQ(refused(csv + "label = \"\"\n"),
              "[data] label = \"\": it must be a column's name, or its number from 1");
    EXPECT_EQ(refused(csv + "separator = \", \"\n"), "'separator' is one character but no quote, or \"tab\"");
    EXPECT_EQ(refused(svmlight + "numbers = [2]\n"),
              "[data] numbers = [ 2 ]: it must be a whole number in 0..4096");
    EXPECT_EQ(refused(svmlight + "slots = []\n"),
              "[data] slots: 0 slots, but there must be 1..4096, each with its first id");
    EXPECT_EQ(refused(svmlight + "slots = [5, 9, 9]\n"),
              "[data] slots: 9 comes behind 9, but the first ids of slots have to ascend");
    EXPECT_EQ(refused(svmlight + "numbers = 2\nslots = [2, 9]\n"),
              "[data] slots = 2: it must be a whole number in 3..4611686018427387904");
    EXPECT_EQ(refusal(kind + "train = { file = \"c.csv\" }\ntest = { file = \"d.svm\" }\n"),
              "jobs/my.toml:5: by their names the training log is in format = \"csv\" and the test log in "
              "\"svmlight\"; say in [data] which format both have");
    EXPECT_EQ(
        refusal("[data]\nlabel = 1\ntrain = { file = \"c.csv\" }\n"),
        "jobs/my.toml:2: [data] 'label' is for [model] kind = \"click_through\"; data sets of a classifier "
        "have it beside 'file'");
}

TEST(JobFile, RowsOfServers) {
    const std::string log =
        "[model]\nkind = \"click_through\"\n[data]\ntrain = { file = \"c.tsv\" }\n[servers]\n";
    EXPECT_EQ(parse_job(log, "my.toml").servers->rows, RowRules{});
    const auto all = *parse_job(log +
                                    "reject_not_finite = true\n[servers.rows]\nadmit_count = 3\n"
                                    "admit_counters = 640\nstatistics = true\nshow_coefficient = 0.5\n"
                                    "click_coefficient = 2\ndecay = 1\nleast_score = 4\n"
                                    "most_unseen_epochs = 2\nshrink_every = 5\n",
                                "my.toml")
                          .servers;
    EXPECT_TRUE(all.reject_not_finite);
    EXPECT_FALSE(all.metrics.has_value());
    const auto servers = *parse_job(log + "metrics = \"m\"\nmetrics_every = 0.5\n", "my.toml").servers;
    EXPECT_EQ(servers.metrics.value().folder, "m");
    EXPECT_EQ(servers.metrics->every, std::chrono::milliseconds(500));
    EXPECT_EQ(servers.metrics->port, "");
    EXPECT_EQ(parse_job(log + "metrics_port = 9400\nmetrics_every = 5\n", "my.toml").servers->metrics->port,
              "9400");
    EXPECT_EQ(parse_job(log + "metrics_port = \"0.0.0.0:9400\"\n", "my.toml").servers->metrics->port,
              "0.0.0.0:9400");
    EXPECT_THAT(refusal(log + "metrics_port = 65536\n"), testing::HasSubstr("65535"));
    EXPECT_THAT(refusal(log + "metrics_port = 1.5\n"), testing::HasSubstr("65535"));
    EXPECT_THAT(refusal(log + "metrics_every = 5\n"), testing::HasSubstr("'metrics_every' needs 'metrics'"));
    EXPECT_EQ(all.rows, (RowRules{AdmitByCount{3, 640}, RowStatistics{0.5, 2, 1, 4, 2}}));
    EXPECT_EQ(all.shrink_every, 5);
    EXPECT_EQ(parse_job(log + "rows = { admit_probability = 0.25 }\n", "my.toml").servers->rows,
              (RowRules{AdmitByProbability{0.25}, std::nullopt}));
    for (const std::string key : {"reject_not_finite = true", "rows = { statistics = true }"})
        EXPECT_THAT(refusal(log + "mode = \"geo\"\n" + key + "\n"),
                    testing::HasSubstr("is for the other modes than \"geo\""));
    const auto wrong = [&](const std::string& rows) { return refusal(log + "[servers.rows]\n" + rows); };
    EXPECT_EQ(wrong("admit_count = 256\n"),
              "jobs/my.toml:7: [servers.rows] admit_count = 256: it must be a whole number in 1..255");
    EXPECT_EQ(wrong("admit_count = 2\nadmit_counters = 100\n"),
              "jobs/my.toml:8: 'admit_counters' is 100; it must be a multiple of 64");
    EXPECT_EQ(wrong("admit_counters = 128\n"), "jobs/my.toml:7: 'admit_counters' needs 'admit_count'");
    EXPECT_EQ(wrong("admit_probability = 1.5\n"),
              "jobs/my.toml:7: [servers.rows] admit_probability = 1.5: it must be a number from 0 to 1");
    EXPECT_EQ(wrong("admit_count = 2\nadmit_probability = 0.5\n"),
              "jobs/my.toml:8: 'admit_count' and 'admit_probability' exclude each other");
    EXPECT_EQ(wrong("decay = 0.5\n"), "jobs/my.toml:7: 'decay' needs statistics = true");
    EXPECT_EQ(wrong("shrink_every = 1\n"),
              "jobs/my.toml:7: 'shrink_every' needs statistics = true, or 'admit_count'");
    EXPECT_EQ(wrong("statistic = true\n"),
              "jobs/my.toml:7: unknown key 'statistic' in [servers.rows]; did you mean 'statistics'?");
    EXPECT_EQ(
        refusal("[data]\ntrain = { file = \"a.h5\" }\n[servers.rows]\nstatistics = true\n"),
        "jobs/my.toml:3: [servers.rows] is about the table of ids of [model] kind = \"click_through\", but "
        "it is \"classifier\"");
}

TEST(JobFile, OtherOptimizers) {
    const auto with = [](const std::string& train) {
        return parse_job(std::string(smallest) + "[train]\n" + train, "my.toml").train.optimizer;
    };
    EXPECT_EQ(std::get<Sgd>(with("optimizer = \"sgd\"\nlearning_rate = 0.25")).learning_rate, 0.25);
    const auto momentum = std::get<Momentum>(with("optimizer = \"momentum\"\nmomentum = 0.5"));
    EXPECT_EQ(momentum.mu, 0.5);
    EXPECT_EQ(momentum.learning_rate, 0.01);
    EXPECT_FALSE(momentum.nesterov);
    EXPECT_TRUE(std::get<Momentum>(with("optimizer = \"momentum\"\nnesterov = true")).nesterov);
    const auto adagrad = std::get<Adagrad>(with("optimizer = \"adagrad\"\nepsilon = 0.5\ninitial = 2"));
    EXPECT_EQ(adagrad.epsilon, 0.5);
    EXPECT_EQ(adagrad.initial, 2);
    const auto adamw = std::get<AdamW>(with("optimizer = \"adamw\"\nbeta2 = 0.5\nweight_decay = 0.25"));
    EXPECT_EQ(adamw.beta2, 0.5);
    EXPECT_EQ(adamw.weight_decay, 0.25);
    const auto ftrl = std::get<Ftrl>(with("optimizer = \"ftrl\"\nbeta = 2\nl1 = 0.5\nl2 = 0.25"));
    EXPECT_EQ(ftrl.beta, 2);
    EXPECT_EQ(ftrl.l1, 0.5);
    EXPECT_EQ(ftrl.l2, 0.25);
    EXPECT_EQ(ftrl.learning_rate, 0.1);
}

TrainSettings training(const std::string& text) {
    return parse_job(std::string(smallest) + text, "my.toml").train;
}

TEST(JobFile, Schedules) {
    EXPECT_FALSE(training("").adjust.schedule.has_value());
    const auto with = [](const std::string& schedule) {
        return *training("[train]\nepochs = 7\nlearning_rate = 0.5\n[train.schedule]\n" + schedule)
                    .adjust.schedule;
    };
    EXPECT_EQ(std::get<ConstantRate>(with("").decay).learning_rate, 0.5);
    const auto cosine = std::get<CosineDecay>(with("kind = \"cosine\"").decay);
    EXPECT_EQ(cosine.epochs, 7) << "those of the job";
    EXPECT_EQ(cosine.learning_rate, 0.5);
    EXPECT_EQ(std::get<CosineDecay>(with("kind = \"cosine\"\nepochs = 3").decay).epochs, 3);
    const std::string periodic = "\"\ndecay_steps = 30\ndecay_rate = 0.25\nstaircase = true";
    const auto expect_periodic = [](const auto& decay) {
        EXPECT_EQ(decay.learning_rate, 0.5);
        EXPECT_EQ(decay.decay_steps, 30);
        EXPECT_EQ(decay.decay_rate, 0.25);
        EXPECT_TRUE(decay.staircase);
    };
    expect_periodic(std::get<ExponentialDecay>(with("kind = \"exponential" + periodic).decay));
    expect_periodic(std::get<NaturalExpDecay>(with("kind = \"natural_exp" + periodic).decay));
    expect_periodic(std::get<InverseTimeDecay>(with("kind = \"inverse_time" + periodic).decay));
    const auto polynomial = std::get<PolynomialDecay>(
        with("kind = \"polynomial\"\ndecay_steps = 9\nend = 0.125\npower = 2\ncycle = true").decay);
    EXPECT_EQ(polynomial.decay_steps, 9);
    EXPECT_EQ(polynomial.end, 0.125);
    EXPECT_EQ(polynomial.power, 2);
    EXPECT_TRUE(polynomial.cycle);
    const auto noam = std::get<NoamDecay>(with("kind = \"noam\"\nd_model = 64\nnoam_steps = 11").decay);
    EXPECT_EQ(noam.d_model, 64);
    EXPECT_EQ(noam.warmup_steps, 11);
    const auto warmup = *with("warmup_steps = 20\nwarmup_start = 0.25").warmup;
    EXPECT_EQ(warmup.steps, 20);
    EXPECT_EQ(warmup.start, 0.25);
    EXPECT_EQ(warmup.end, 0.5);
    const auto piecewise = *training(
                                "[train.schedule]\nkind = \"piecewise\"\nboundaries = [3, 8]\n"
                                "values = [0.5, 0.25, 0]\nwarmup_steps = 2")
                                .adjust.schedule;
    EXPECT_EQ(std::get<PiecewiseRate>(piecewise.decay).boundaries, (std::vector<std::int64_t>{3, 8}));
    EXPECT_EQ(std::get<PiecewiseRate>(piecewise.decay).values, (std::vector<double>{0.5, 0.25, 0}));
    EXPECT_EQ(piecewise.warmup->end, 0.5);
}

TEST(JobFile, ClippingDecayOneCopyAndProducts) {
    const auto none = training("");
    EXPECT_TRUE(std::holds_alternative<NoClipping>(none.adjust.clipping));
    EXPECT_TRUE(std::holds_alternative<NoDecay>(none.adjust.regularisation));
    EXPECT_FALSE(none.one_copy);
    EXPECT_TRUE(training("[train]\none_copy = true").one_copy);
    EXPECT_FALSE(none.memory_optimize);
    EXPECT_TRUE(training("[train]\nmemory_optimize = true").memory_optimize);
    EXPECT_EQ(none.local_sgd, 0);
    EXPECT_EQ(training("[train]\nlocal_sgd = 8").local_sgd, 8);
    EXPECT_EQ(none.products, ComputeType::float32);
    EXPECT_EQ(training("[train]\nmatmul = \"float32\"").products, ComputeType::float32);
    EXPECT_EQ(training("[train]\nmatmul = \"bfloat16\"").products, ComputeType::bfloat16);
    EXPECT_EQ(training("[train]\nmatmul = \"float16\"").products, ComputeType::float16);
    EXPECT_EQ(none.loss_scaling.first, 65536);
    const auto scaling = training(
                             "[train]\nmatmul = \"float16\"\n[train.loss_scale]\nfirst = 1024\ngrowth = 4\n"
                             "backoff = 0.25\ngrowth_steps = 7")
                             .loss_scaling;
    EXPECT_EQ(std::tie(scaling.first, scaling.growth, scaling.backoff, scaling.growth_steps),
              std::tuple(1024.0, 4.0, 0.25, 7));
    EXPECT_EQ(none.device, std::nullopt);
    EXPECT_FALSE(none.nccl);
    EXPECT_EQ(training("[train]\ndevice = \"cpu\"").device, Device::cpu());
    EXPECT_EQ(training("[train]\ndevice = \"gpu\"").device, Device::gpu());
    EXPECT_EQ(training("[train]\ndevice = \"gpu:3\"\nnccl = true").device, Device::gpu(3));
    EXPECT_TRUE(training("[train]\nnccl = true").nccl);
    const auto clipping = [](const std::string& text) {
        return training("[train.clip]\n" + text).adjust.clipping;
    };
    const auto value = std::get<ClipByValue>(clipping("by = \"value\"\nmin = -2\nmax = 3"));
    EXPECT_EQ(value.min, -2);
    EXPECT_EQ(value.max, 3);
    EXPECT_EQ(std::get<ClipByNorm>(clipping("by = \"norm\"\nnorm = 4")).norm, 4);
    EXPECT_EQ(std::get<ClipByGlobalNorm>(clipping("by = \"global_norm\"\nnorm = 5")).norm, 5);
    const auto decay = [](const std::string& kind) {
        return training("[train.decay]\nkind = \"" + kind + "\"\ncoefficient = 0.5").adjust.regularisation;
    };
    EXPECT_EQ(std::get<L1Decay>(decay("l1")).coefficient, 0.5);
    EXPECT_EQ(std::get<L2Decay>(decay("l2")).coefficient, 0.5);
}

TEST(JobFile, AFileOfAllRanks) {
    const auto checkpoint =
        parse_job(std::string(smallest) + "[checkpoint]\nformat = \"file\"\ncollective = true\n" +
                      "hints = { striping_factor = 8, romio_ds_write = \"disable\" }",
                  "my.toml")
            .checkpoint;
    EXPECT_EQ(checkpoint.files.format, CheckpointFormat::file);
    EXPECT_TRUE(checkpoint.files.collective);
    EXPECT_FALSE(checkpoint.files.async);
    EXPECT_EQ(checkpoint.files.hints,
              (std::map<std::string, std::string>{{"romio_ds_write", "disable"}, {"striping_factor", "8"}}));
}

TEST(JobFile, ALinearModel) {
    EXPECT_TRUE(parse_job(std::string(smallest) + "[model]\nhidden = []", "my.toml").model.hidden.empty());
}

TEST(JobFile, ServersMayUpdateOnAGpu) {
    const auto device = [](const std::string& servers) {
        return parse_job("[data]\ntrain = { file = \"d.h5\" }\n[servers]\n" + servers, "my.toml")
            .servers.value()
            .device;
    };
    EXPECT_EQ(device(""), Device::cpu());
    EXPECT_EQ(device("device = \"cpu\""), Device::cpu());
    EXPECT_EQ(device("device = \"gpu\""), Device::gpu());
    EXPECT_EQ(device("device = \"gpu:2\""), Device::gpu(2));
}

TEST(JobFile, ServersWithALimitOfMemory) {
    const std::string clicks =
        "[model]\nkind = \"click_through\"\n[data]\ntrain = { file = \"c.tsv\" }\n[servers]\n";
    const auto settings = [&](const std::string& servers) {
        return parse_job(clicks + servers, "jobs/my.toml").servers.value();
    };
    EXPECT_EQ(settings("").memory, std::nullopt);
    EXPECT_EQ(settings("memory = \"8 GiB\"").memory, std::int64_t{8} << 30);
    EXPECT_EQ(settings("memory = 100").spill, "");
    EXPECT_EQ(settings("memory = 100\nspill = \"/scratch\"").spill, "/scratch");
    EXPECT_EQ(refusal(clicks + "memory = \"much\"\n"),
              "jobs/my.toml:6: [servers] memory = \"much\": it must be a number of bytes, or a text such as "
              "\"500MiB\" or \"2GiB\"");
    EXPECT_EQ(refusal(clicks + "spill = \"/scratch\"\n"),
              "jobs/my.toml:6: 'spill' is where rows go that 'memory' has no room for: set 'memory' too");
    EXPECT_EQ(refusal("[data]\ntrain = { file = \"d.h5\" }\n[servers]\nmemory = 100\n"),
              "jobs/my.toml:3: [servers] 'memory' is for the tables of [model] kind = \"click_through\"; a "
              "\"classifier\" has none");
}

TEST(JobFile, ServersWithThreads) {
    const std::string clicks =
        "[model]\nkind = \"click_through\"\n[data]\ntrain = { file = \"c.tsv\" }\n[servers]\n";
    const auto threads = [&](const std::string& servers) {
        return parse_job(clicks + servers, "jobs/my.toml").servers.value().threads;
    };
    EXPECT_EQ(threads(""), std::nullopt);
    EXPECT_EQ(threads("threads = 1"), 1);
    EXPECT_EQ(threads("threads = 256"), 256);
    EXPECT_EQ(refusal(clicks + "threads = 0\n"),
              "jobs/my.toml:6: [servers] threads = 0: it must be a whole number in 1..256");
    EXPECT_EQ(refusal(clicks + "threads = 257\n"),
              "jobs/my.toml:6: [servers] threads = 257: it must be a whole number in 1..256");
    EXPECT_EQ(refusal(clicks + "threads = \"all\"\n"),
              "jobs/my.toml:6: [servers] threads = \"all\": it must be a whole number in 1..256");
    EXPECT_EQ(refusal("[data]\ntrain = { file = \"d.h5\" }\n[servers]\nthreads = 2\n"),
              "jobs/my.toml:3: [servers] 'threads' is for the tables of [model] kind = \"click_through\"; a "
              "\"classifier\" has none");
}

struct Refused {
    const char* text;
    const char* message;
};

// Every text begins in line 1; "SMALLEST" stands for the two lines of `smallest`.
const Refused refused[] = {
    {"",
     "jobs/my.toml: [data] needs train = { file = \"...h5\", x = \"...\", y = \"...\" }: what to train on"},
    {"[data]\n",
     "jobs/my.toml:1: [data] needs train = { file = \"...h5\", x = \"...\", y = \"...\" }: what to train on"},
    {"[data]\ntrain = { x = \"x\" }", "jobs/my.toml:2: a data set needs its 'file'"},
    {"[data]\ntrain = \"d.h5\"", "jobs/my.toml:2: [data] train = \"d.h5\": it must be a table"},
    {"SMALLEST[train]\nepoch = 3", "jobs/my.toml:4: unknown key 'epoch' in [train]; did you mean 'epochs'?"},
    {"SMALLEST[train]\nlearning-rate = 3",
     "jobs/my.toml:4: unknown key 'learning-rate' in [train]; did you mean 'learning_rate'?"},
    {"SMALLEST[train]\nseed = 1\nzzz = 3\nyyy = 4",
     "jobs/my.toml:5: unknown key 'zzz' in [train]; known are epochs, batch, global_batch, virtual_ranks, "
     "one_copy, local_sgd, matmul, loss_scale, device, nccl, memory_optimize, last_batch, seed, optimizer, "
     "learning_rate, schedule, clip, decay, epsilon, initial, beta1, beta2, weight_decay, beta, l1, l2, "
     "momentum, nesterov"},
    {"[modell]\nSMALLEST", "jobs/my.toml:1: unknown key 'modell' at the top; did you mean 'model'?"},
    {"[data]\ntrain = { file = \"d.h5\", z = \"x\" }",
     "jobs/my.toml:2: unknown key 'z' in [data.train]; did you mean 'x'?"},
    {"SMALLEST[train]\nepochs = \"ten\"",
     "jobs/my.toml:4: [train] epochs = \"ten\": it must be a whole number, 1 or more"},
    {"SMALLEST[train]\nepochs = 0",
     "jobs/my.toml:4: [train] epochs = 0: it must be a whole number, 1 or more"},
    {"SMALLEST[train]\nepochs = 2.0",
     "jobs/my.toml:4: [train] epochs = 2.0: it must be a whole number, 1 or more"},
    {"SMALLEST[train]\nbatch = 20000000",
     "jobs/my.toml:4: [train] batch = 20000000: it must be a whole number in 1..16777216"},
    {"SMALLEST[train]\nseed = -1", "jobs/my.toml:4: [train] seed = -1: it must be a whole number, 0 or more"},
    {"SMALLEST[train]\nglobal_batch = 64\nbatch = 32",
     "jobs/my.toml:5: 'batch' (per rank) and 'global_batch' (of all ranks) exclude each other"},
    {"SMALLEST[train]\noptimizer = \"adm\"",
     "jobs/my.toml:4: [train] optimizer = \"adm\": it must be one of \"adagrad\", \"adam\", "
     "\"adamw\", \"ftrl\", \"momentum\", \"sgd\"; did you mean \"adam\"?"},
    {"SMALLEST[train]\nlearning_rate = 0",
     "jobs/my.toml:4: [train] learning_rate = 0: it must be a number above 0 and below 1e30"},
    {"SMALLEST[train]\nlearning_rate = nan",
     "jobs/my.toml:4: [train] learning_rate = nan: it must be a number above 0 and below 1e30"},
    {"SMALLEST[train]\nlearning_rate = inf",
     "jobs/my.toml:4: [train] learning_rate = inf: it must be a number above 0 and below 1e30"},
    {"SMALLEST[train]\nbeta1 = 1.0",
     "jobs/my.toml:4: [train] beta1 = 1.0: it must be a number from 0 to below 1"},
    {"SMALLEST[train]\nmomentum = 0.9",
     "jobs/my.toml:4: 'momentum' is a setting of optimizer = \"momentum\", but it is \"adam\""},
    {"SMALLEST[train]\noptimizer = \"sgd\"\nbeta2 = 0.9",
     "jobs/my.toml:5: 'beta2' is a setting of optimizer = \"adam\" or \"adamw\", but it is \"sgd\""},
    {"SMALLEST[train]\noptimizer = \"ftrl\"\nl1 = -1",
     "jobs/my.toml:5: [train] l1 = -1: it must be a number from 0 to below 1e30"},
    {"SMALLEST[train]\nschedule = \"cosine\"",
     "jobs/my.toml:4: [train] schedule = \"cosine\": it must be a table"},
    {"SMALLEST[train.schedule]\nkind = \"cosin\"",
     "jobs/my.toml:4: [train.schedule] kind = \"cosin\": it must be one of \"constant\", \"cosine\", "
     "\"exponential\", \"inverse_time\", \"natural_exp\", \"noam\", \"piecewise\", \"polynomial\"; did you "
     "mean \"cosine\"?"},
    {"SMALLEST[train.schedule]\nkind = \"cosine\"\npower = 2",
     "jobs/my.toml:5: 'power' is a setting of kind = \"polynomial\", but it is \"cosine\""},
    {"SMALLEST[train.schedule]\nkind = \"exponential\"\ndecay_steps = 0",
     "jobs/my.toml:5: [train.schedule] decay_steps = 0: it must be a number above 0 and below 1e30"},
    {"SMALLEST[train.schedule]\nkind = \"piecewise\"\nboundaries = [10, 5]\nvalues = [1, 2, 3]",
     "jobs/my.toml:5: the numbers of 'boundaries' must grow"},
    {"SMALLEST[train.schedule]\nkind = \"piecewise\"\nboundaries = [10]\nvalues = [1]",
     "jobs/my.toml:6: 'values' has 1 numbers for 1 of 'boundaries'; it must be one more"},
    {"SMALLEST[train.schedule]\nkind = \"piecewise\"\nvalues = [\"a\"]",
     "jobs/my.toml:5: [train.schedule] values = \"a\": it must be a number from 0 to below 1e30"},
    {"SMALLEST[train]\nlearning_rate = 1\n[train.schedule]\nkind = \"piecewise\"\nvalues = [1]",
     "jobs/my.toml:4: 'learning_rate' and kind = \"piecewise\" exclude each other: 'values' are the rates"},
    {"SMALLEST[train.schedule]\nwarmup_start = 1", "jobs/my.toml:4: 'warmup_start' needs 'warmup_steps'"},
    {"SMALLEST[train.clip]\nnorm = 1",
     "jobs/my.toml:3: [train.clip] needs by = \"value\", \"norm\" or \"global_norm\""},
    {"SMALLEST[train.clip]\nby = \"norm\"\nnorm = 0",
     "jobs/my.toml:5: [train.clip] norm = 0: it must be a number above 0 and below 1e30"},
    {"SMALLEST[train.clip]\nby = \"norm\"\nmax = 1",
     "jobs/my.toml:5: 'max' is a setting of by = \"value\", but it is \"norm\""},
    {"SMALLEST[train.clip]\nby = \"value\"\nmin = 2",
     "jobs/my.toml:5: 'min' is 2 and 'max' 1; it must be below"},
    {"SMALLEST[train.decay]\nkind = \"l2\"",
     "jobs/my.toml:3: [train.decay] needs kind = \"l1\" or \"l2\", and a coefficient"},
    {"SMALLEST[train.decay]\nkind = \"l3\"\ncoefficient = 1",
     "jobs/my.toml:4: [train.decay] kind = \"l3\": it must be one of \"l1\", \"l2\"; did you mean \"l1\"?"},
    {"SMALLEST[train]\none_copy = true\nvirtual_ranks = 2",
     "jobs/my.toml:4: 'one_copy' and 'virtual_ranks' exclude each other: each rank updates its share of the "
     "parameters right after adding the gradients"},
    {"SMALLEST[train]\nlocal_sgd = 0",
     "jobs/my.toml:4: [train] local_sgd = 0: it must be a whole number, 1 or more"},
    {"SMALLEST[train]\nlocal_sgd = 2.5",
     "jobs/my.toml:4: [train] local_sgd = 2.5: it must be a whole number, 1 or more"},
    {"SMALLEST[train]\nlocal_sgd = 8\nvirtual_ranks = 2",
     "jobs/my.toml:4: 'local_sgd' and 'virtual_ranks' exclude each other: each rank updates parameters of "
     "its "
     "own with its own gradients"},
    {"SMALLEST[train]\none_copy = true\nlocal_sgd = 8",
     "jobs/my.toml:5: 'local_sgd' and 'one_copy' exclude each other: each rank updates parameters of its own "
     "with its own gradients"},
    {"SMALLEST[train]\nlocal_sgd = 8\nmatmul = \"float16\"",
     "jobs/my.toml:4: 'local_sgd' and matmul = \"float16\" exclude each other: with a scaled loss steps are "
     "left out, on each rank other ones; use \"bfloat16\" or \"float32\""},
    {"SMALLEST[train]\noptimizer = \"ftrl\"\nlocal_sgd = 8",
     "jobs/my.toml:5: 'local_sgd' and optimizer = \"ftrl\" exclude each other: FTRL makes parameters of its "
     "sums alone, which stay each rank's own"},
    {"SMALLEST[train]\nmatmul = \"float16\"\n[train.loss_scale]\nfirst = 1000",
     "jobs/my.toml:6: [train.loss_scale] first = 1000: it must be a power of two from 2^-126 to 2^126"},
    {"SMALLEST[train]\nmatmul = \"float16\"\n[train.loss_scale]\nbackoff = 2",
     "jobs/my.toml:6: [train.loss_scale] backoff = 2: it must be a power of two from 2^-126 to 1"},
    {"SMALLEST[train]\nmatmul = \"float16\"\n[train.loss_scale]\ngrowth_steps = 0",
     "jobs/my.toml:6: [train.loss_scale] growth_steps = 0: it must be a whole number, 1 or more"},
    {"SMALLEST[train]\n[train.loss_scale]\nfirst = 1024",
     "jobs/my.toml:4: [train.loss_scale] is a setting of matmul = \"float16\", but it is another one"},
    {"SMALLEST[train]\nmatmul = \"bf16\"",
     "jobs/my.toml:4: [train] matmul = \"bf16\": it must be one of \"bfloat16\", \"float16\", \"float32\""},
    {"SMALLEST[train]\ndevice = \"cuda\"",
     "jobs/my.toml:4: [train] device = \"cuda\": it must be \"cpu\", \"gpu\" or a GPU's number such as "
     "\"gpu:0\""},
    {"SMALLEST[servers]\ndevice = \"gpu:x\"",
     "jobs/my.toml:4: [servers] device = \"gpu:x\": it must be \"cpu\", \"gpu\" or a GPU's number such as "
     "\"gpu:0\""},
    {"SMALLEST[model]\nhidden = 64",
     "jobs/my.toml:4: [model] hidden = 64: it must be a list of whole numbers such as [128, 64], or [] for "
     "none"},
    {"SMALLEST[model]\nhidden = [64, 0]",
     "jobs/my.toml:4: [model] hidden = 0: it must be a whole number in 1..16777216"},
    {"SMALLEST[model]\nactivation = \"swish\"",
     "jobs/my.toml:4: [model] activation = \"swish\": it must be one of \"relu\", \"tanh\", \"sigmoid\""},
    {"[data]\nscale = 0\ntrain = { file = \"d.h5\" }",
     "jobs/my.toml:2: [data] scale = 0: it must be a number from 1e-30 to below 1e30"},
    {"[data]\ntrain = { file = \"\" }",
     "jobs/my.toml:2: [data.train] file = \"\": it must be a text in quotes that is not empty"},
    {"SMALLEST[checkpoint]\ndir = \"a\\u0000b\"",
     "jobs/my.toml:4: [checkpoint] dir = \"a\\u0000b\": it must be a text without control characters"},
    {"title = 3\nSMALLEST", "jobs/my.toml:1: title = 3: it must be a text in quotes that is not empty"},
    {"SMALLEST[checkpoint]\nevery_minutes = 0",
     "jobs/my.toml:4: [checkpoint] every_minutes = 0: it must be a number of minutes above 0 and below 1e6"},
    {"SMALLEST[checkpoint]\nevery_minutes = \"5m\"",
     "jobs/my.toml:4: [checkpoint] every_minutes = \"5m\": it must be a number of minutes above 0 and below "
     "1e6"},
    {"SMALLEST[checkpoint]\nasync = 1", "jobs/my.toml:4: [checkpoint] async = 1: it must be true or false"},
    {"SMALLEST[checkpoint]\nformat = \"files\"",
     "jobs/my.toml:4: [checkpoint] format = \"files\": it must be one of \"directory\", \"file\"; did you "
     "mean "
     "\"file\"?"},
    {"SMALLEST[checkpoint]\nformat = \"file\"\nshards = 2",
     "jobs/my.toml:5: 'shards' is a setting of format = \"directory\", but it is \"file\""},
    {"SMALLEST[checkpoint]\ncollective = true",
     "jobs/my.toml:4: 'collective' is a setting of format = \"file\", but it is \"directory\""},
    {"SMALLEST[checkpoint]\nformat = \"file\"\ncollective = true\nasync = true",
     "jobs/my.toml:6: async = true excludes 'collective': ranks write together only between steps"},
    {"SMALLEST[checkpoint]\nhints = { cb_nodes = 1 }", "jobs/my.toml:4: 'hints' are for collective = true"},
    {"SMALLEST[checkpoint]\nformat = \"file\"\ncollective = true\nhints = { cb_nodes = 1.5 }",
     "jobs/my.toml:6: [checkpoint] hints = { cb_nodes = 1.5 }: it must be a table of texts and whole "
     "numbers, such as { "
     "striping_factor = 8 }"},
    {"SMALLEST[checkpoint]\nkeep = 0",
     "jobs/my.toml:4: [checkpoint] keep = 0: it must be a whole number in 1..1000000"},
};

TEST(JobFile, RefusesWithFileLineKeyValueAndCure) {
    for (const auto& [text, message] : refused) {
        std::string whole = text;
        if (const auto at = whole.find("SMALLEST"); at != std::string::npos) whole.replace(at, 8, smallest);
        EXPECT_EQ(refusal(whole), message) << whole;
    }
}

TEST(JobFile, SyntaxErrorsNameTheLine) {
    const auto message = refusal("[data]\ntrain = {\n");
    EXPECT_THAT(message, testing::StartsWith("jobs/my.toml:2: "));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_THAT(refusal("[train]\nseed = 1\nseed = 2\n"), testing::StartsWith("jobs/my.toml:3: "));
}

TEST(JobFile, CachesOfClickLogs) {
    const auto job = [](const std::string& data) {
        return parse_job("[model]\nkind = \"click_through\"\n[data]\ntrain = { file = \"c.tsv\" }\n" + data,
                         "jobs/my.toml");
    };
    EXPECT_EQ(job("").click_cache, std::nullopt);
    EXPECT_EQ(job("").data_memory, std::numeric_limits<std::int64_t>::max());
    // Relative to where the program runs, unlike the log.
    EXPECT_EQ(job("cache = \"c\"").click_cache, "c");
    EXPECT_EQ(job("cache = \"c\"").data_memory, std::int64_t{1} << 30);
    EXPECT_EQ(job("cache = \"c\"\nmemory = 5").data_memory, 5);
    EXPECT_EQ(tests::message_of([&] { job("cache = true"); }),
              "jobs/my.toml:5: [data] cache = true: it must be a text in quotes that is not empty");
    EXPECT_EQ(refusal("[data]\ncache = \"c\"\ntrain = { file = \"d.h5\" }\n"),
              "jobs/my.toml:2: [data] 'cache' is for [model] kind = \"click_through\"");
}

TEST(JobFile, UnreadableFiles) {
    const auto message = [](const char* file) { return tests::message_of([&] { read_job(file); }); };
    EXPECT_EQ(message("/nowhere/job.toml"),
              "cannot read the job file /nowhere/job.toml: No such file or directory");
    EXPECT_EQ(message("/"), "cannot read the job file /: it is a folder");
}

TEST(JobFile, TheBuiltInJob) {
    const auto clicks = read_job(DTRAIN_EXAMPLES "/ctr.toml");
    EXPECT_EQ(clicks.model.kind, ModelKind::click_through);
    EXPECT_EQ(clicks.click_columns, ClickLayout(ClickColumns{2, 8}));
    const auto job = read_job(DTRAIN_EXAMPLES "/digits.toml");
    EXPECT_TRUE(std::filesystem::exists(job.train_data.file));
    ASSERT_TRUE(job.test_data.has_value());
    EXPECT_EQ(Dataset::read(*job.test_data).size(), 389);
    EXPECT_TRUE(job.checkpoint.dir.has_value());
}

// Each line that is a comment and a setting, with the head of its table.
TEST(JobFile, SettingsInCommentsOfTheBuiltInJobAreSettings) {
    const auto file = std::filesystem::path(DTRAIN_EXAMPLES "/digits.toml");
    const std::vector<std::string> lines = split(*read_file(file), '\n');
    const auto is_setting = [](const std::string& line) {
        return std::regex_search(line, std::regex("^# [a-z_]+ = "));
    };
    const auto is_head = [](const std::string& line) {
        return std::regex_search(line, std::regex(R"(^(# )?\[)"));
    };
    std::set<std::string> keys;
    for (std::size_t chosen = 0; chosen < lines.size(); ++chosen) {
        if (!is_setting(lines[chosen])) continue;
        auto changed = lines;
        std::size_t head = chosen;
        while (!is_head(lines[head])) --head;
        for (const auto at : {chosen, head})
            if (changed[at].starts_with("# ")) changed[at].erase(0, 2);
        EXPECT_EQ(tests::message_of([&] { parse_job(join(changed, "\n"), file); }), "") << lines[chosen];
        keys.insert(changed[chosen].substr(0, changed[chosen].find(' ')));
    }
    EXPECT_THAT(keys, testing::IsSupersetOf({"device", "nccl", "last_batch", "count", "mode"}));
}

}  // namespace
}  // namespace dtrain::native
