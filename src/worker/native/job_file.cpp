// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/job_file.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "worker/native/job_section.hpp"
#include "worker/native/job_training.hpp"

namespace dtrain::native {
namespace {

DatasetSource read_source(const Section& data, const char* key, const std::filesystem::path& folder,
                          float scale) {
    const auto source = data.section(
        key, {"file", "x", "y", "format", "labels", "label", "separator", "header", "first_id", "features"});
    if (!source.has("file")) source.fail("file", "a data set needs its 'file'");
    DatasetSource out;
    out.file = folder / source.text("file", "");
    out.x = source.text("x", out.x);
    out.y = source.text("y", out.y);
    out.scale = scale;
    static const std::map<std::string, DataFormat> formats = {{"hdf5", DataFormat::hdf5},
                                                              {"idx", DataFormat::idx},
                                                              {"csv", DataFormat::csv},
                                                              {"svmlight", DataFormat::svmlight}};
    if (source.has("format"))
        out.format = formats.at(source.one_of("format", "", {"hdf5", "idx", "csv", "svmlight"}));
    if (source.has("labels")) out.labels = folder / source.text("labels", "");
    out.label_column = source.text("label", "");
    const auto separator = source.text("separator", ",");
    if (separator.size() != 1 && separator != "tab")
        source.fail("separator", "'separator' is one character, or \"tab\"");
    out.separator = separator == "tab" ? '\t' : separator.front();
    if (source.has("header")) out.header = source.truth("header", false);
    out.first_id = source.whole("first_id", out.first_id, 0, most_whole);
    out.features = source.whole("features", out.features, 1, most_whole);
    return out;
}

}  // namespace

Job parse_job(std::string_view text, const std::filesystem::path& file) {
    const auto name = file.string();
    toml::table root;
    try {
        root = toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        throw UsageError(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
    }
    const Section top(root, name, "", {"title", "model", "data", "train", "checkpoint"});
    Job job;
    job.title = top.text("title", file.stem().string());

    const auto model = top.section("model", {"hidden", "activation"});
    job.model.hidden = model.wholes("hidden", job.model.hidden, 1, most_size);
    job.model.activation = model.one_of("activation", job.model.activation, {"relu", "tanh", "sigmoid"});

    const auto data = top.section("data", {"train", "test", "scale", "memory"});
    const auto scale =
        static_cast<float>(data.number("scale", 1, {1e-30, 1e30, "a number from 1e-30 to below 1e30"}));
    if (!data.has("train"))
        data.fail("train",
                  "[data] needs train = { file = \"...h5\", x = \"...\", y = \"...\" }: what to train on");
    job.train_data = read_source(data, "train", file.parent_path(), scale);
    if (data.has("test")) job.test_data = read_source(data, "test", file.parent_path(), scale);

    job.data_memory = data.bytes("memory", job.data_memory);

    job.train = read_training(top);

    const auto checkpoint = top.section("checkpoint", {"dir", "every", "every_steps", "keep", "async",
                                                       "format", "shards", "collective", "hints"});
    if (checkpoint.has("dir")) job.checkpoint.dir = checkpoint.text("dir", "");
    if (checkpoint.has("every_steps")) {
        job.checkpoint.every_steps = checkpoint.whole("every_steps", 1, 1, most_whole);
        job.checkpoint.every = std::nullopt;
    }
    if (checkpoint.has("every")) job.checkpoint.every = checkpoint.whole("every", 1, 1, most_whole);
    job.checkpoint.async = checkpoint.truth("async", job.checkpoint.async);
    if (checkpoint.one_of("format", "directory", {"directory", "file"}) == "file") {
        job.checkpoint.format = CheckpointFormat::file;
        if (checkpoint.has("shards"))
            checkpoint.fail("shards", "'shards' is a setting of format = \"directory\", but it is \"file\"");
    }
    job.checkpoint.collective = checkpoint.truth("collective", false);
    if (job.checkpoint.collective) {
        if (job.checkpoint.format != CheckpointFormat::file)
            checkpoint.fail("collective",
                            "'collective' is a setting of format = \"file\", but it is \"directory\"");
        if (checkpoint.has("async") && job.checkpoint.async)
            checkpoint.fail("async",
                            "async = true excludes 'collective': ranks write together only between steps");
        job.checkpoint.async = false;
        job.checkpoint.hints = checkpoint.words("hints");
    } else if (checkpoint.has("hints")) {
        checkpoint.fail("hints", "'hints' are for collective = true");
    }
    if (checkpoint.has("shards"))
        job.checkpoint.shards = static_cast<int>(checkpoint.whole("shards", 1, 1, 1'000'000));
    job.checkpoint.keep = static_cast<int>(checkpoint.whole("keep", job.checkpoint.keep, 1, 1'000'000));
    return job;
}

Job read_job(const std::filesystem::path& file) {
    errno = 0;
    const auto text = std::filesystem::is_directory(file) ? std::nullopt : read_file(file);
    if (!text)
        throw UsageError(fmt::format("cannot read the job file {}: {}", file.string(),
                                     errno != 0 ? std::strerror(errno) : "it is a folder"));
    return parse_job(*text, file);
}

std::string name_of(LastBatch last_batch) {
    if (last_batch == LastBatch::repeat) return "repeat";
    return last_batch == LastBatch::random ? "random" : "drop";
}

std::string name_of(const Optimizer& optimizer) {
    static constexpr std::array names{"sgd", "momentum", "adam", "adagrad", "adamw", "ftrl"};
    static_assert(names.size() == std::variant_size_v<Optimizer>);
    return names[optimizer.index()];
}

std::string name_of(const Decay& decay) {
    static constexpr std::array names{"constant",   "exponential", "natural_exp", "inverse_time",
                                      "polynomial", "piecewise",   "cosine",      "noam"};
    static_assert(names.size() == std::variant_size_v<Decay>);
    return names[decay.index()];
}

double learning_rate_of(const Optimizer& optimizer) {
    return std::visit([](const auto& settings) { return settings.learning_rate; }, optimizer);
}

}  // namespace dtrain::native
