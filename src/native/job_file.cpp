// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "data/read_dataset.hpp"
#include "kernels/functors/functions.hpp"
#include "native/job_clicks.hpp"
#include "native/job_rows.hpp"
#include "native/job_section.hpp"
#include "native/job_training.hpp"

namespace dtrain::native {
namespace {

constexpr std::int64_t max_servers = 1'000'000;
constexpr std::int64_t max_table_threads = 256;
constexpr std::int64_t highest_port = 65535;
// A program's variable has at most 2^48 elements.
constexpr std::int64_t max_dict_size = 1'000'000'000'000;

constexpr std::array<std::string_view, 10> keys_of_files = {
    "file", "x", "y", "format", "labels", "label", "separator", "header", "first_id", "features"};

std::vector<std::string> names_of_formats() {
    std::vector<std::string> names;
    for (const auto& row : data::formats) names.emplace_back(row.name);
    return names;
}

DatasetSource read_source(const Section& data, const char* key, const std::filesystem::path& folder,
                          float scale) {
    const auto source = data.section(key, {keys_of_files.begin(), keys_of_files.end()});
    if (!source.has("file")) source.fail("file", "a data set needs its 'file'");
    DatasetSource out;
    out.file = folder / source.text("file", "");
    out.x = source.text("x", out.x);
    out.y = source.text("y", out.y);
    out.scale = scale;
    if (source.has("format")) {
        const auto name = source.one_of("format", "", names_of_formats());
        out.format = std::ranges::find(data::formats, name, &data::FormatRow::name)->format;
    }
    if (source.has("labels")) out.labels = folder / source.text("labels", "");
    out.label_column = source.text("label", "");
    out.separator = source.separator("separator", out.separator);
    if (source.has("header")) out.header = source.truth("header", false);
    out.first_id = source.whole("first_id", out.first_id, 0, max_whole);
    out.features = source.whole("features", out.features, 1, max_whole);
    return out;
}

ModelSettings read_model(const Section& top) {
    const auto model = top.section("model", {"kind", "hidden", "activation", "embedding", "dict_size"});
    ModelSettings settings;
    settings.kind = model.choice("kind", settings.kind, {ModelKind::classifier, ModelKind::click_through},
                                 [](ModelKind kind) { return name_of(kind); });
    if (settings.kind == ModelKind::click_through) {
        settings.hidden = {64, 32};
    } else {
        for (const char* key : {"embedding", "dict_size"})
            if (model.has(key))
                model.fail(key, fmt::format("'{}' is a setting of kind = \"click_through\", but it is "
                                            "\"classifier\"",
                                            key));
    }
    settings.hidden = model.wholes("hidden", settings.hidden, 1, max_size);
    settings.activation =
        model.one_of("activation", settings.activation,
                     {kernels::Activations::types.begin(), kernels::Activations::types.end()});
    settings.embedding = model.whole("embedding", settings.embedding, 1, max_size);
    settings.dict_size = model.whole("dict_size", settings.dict_size, 1, max_dict_size);
    return settings;
}

/// [data] of a classifier.
void read_samples(const Section& data, const std::filesystem::path& folder, Job& job) {
    for (const auto& key : click_keys())
        if (data.has(key)) {
            const bool is_of_files = std::ranges::find(keys_of_files, key) != keys_of_files.end();
            data.fail(key,
                      fmt::format("[data] '{}' is for [model] kind = \"click_through\"{}", key,
                                  is_of_files ? "; data sets of a classifier have it beside 'file'" : ""));
        }
    const auto scale =
        static_cast<float>(data.number("scale", 1, {1e-30, 1e30, "a number from 1e-30 to below 1e30"}));
    job.train_data = read_source(data, "train", folder, scale);
    if (data.has("test")) job.test_data = read_source(data, "test", folder, scale);
}

void refuse_with_servers(const Section& top, const Job& job) {
    for (const auto& [is_set, key] : {std::pair(job.servers->memory.has_value(), "memory"),
                                      std::pair(job.servers->threads.has_value(), "threads")})
        if (is_set && job.model.kind != ModelKind::click_through)
            top.fail("servers",
                     fmt::format("[servers] '{}' is for the tables of [model] kind = \"click_through\"; a "
                                 "\"classifier\" has none",
                                 key));
    if (const auto key = excludes_servers(job.train))
        top.fail(
            "servers",
            fmt::format("[train] '{}' and [servers] exclude each other: servers add the gradients", *key));
}

std::optional<ServerSettings> read_servers(const Section& top, ModelKind kind) {
    const auto servers =
        top.section("servers", {"count", "device", "mode", "staleness", "most_merged", "push_every", "wire",
                                "slice", "split_method", "min_block_size", "threads", "memory", "spill",
                                "rows", "reject_not_finite", "metrics", "metrics_port", "metrics_every"});
    if (!top.has("servers")) return std::nullopt;
    ServerSettings settings;
    if (servers.has("count")) settings.count = static_cast<int>(servers.whole("count", 1, 1, max_servers));
    settings.device = servers.device("device").value_or(settings.device);
    settings.mode = servers.choice(
        "mode", settings.mode, {ServerMode::async, ServerMode::geo, ServerMode::half_async, ServerMode::sync},
        [](ServerMode mode) { return to_string(mode); });
    for (const auto& [key, mode] :
         {std::pair("staleness", ServerMode::half_async), std::pair("most_merged", ServerMode::async),
          std::pair("push_every", ServerMode::geo)})
        if (servers.has(key) && settings.mode != mode)
            servers.fail(key, fmt::format("'{}' is a setting of mode = \"{}\", but it is \"{}\"", key,
                                          to_string(mode), to_string(settings.mode)));
    for (const char* key : {"rows", "reject_not_finite"})
        if (servers.has(key) && settings.mode == ServerMode::geo)
            servers.fail(key,
                         fmt::format("'{}' is for the other modes than \"geo\", in which trainers update "
                                     "rows and parameters of their own",
                                     key));
    settings.staleness = servers.whole("staleness", settings.staleness, 0, max_whole);
    settings.most_merged = static_cast<int>(servers.whole("most_merged", settings.most_merged, 1, 1'000'000));
    settings.push_every = servers.whole("push_every", settings.push_every, 1, max_whole);
    settings.wire =
        servers.choice("wire", settings.wire, {WireType::bfloat16, WireType::float16, WireType::float32},
                       [](WireType type) { return to_string(type); });
    settings.slice = servers.truth("slice", settings.slice);
    static const std::map<std::string, SplitMethod> split_methods = {
        {"hash_name", hash_name}, {"round_robin", round_robin}, {"round_robin_by_name", round_robin_by_name}};
    std::vector<std::string> methods;
    for (const auto& [name, method] : split_methods) methods.push_back(name);
    settings.split_method = split_methods.at(servers.one_of("split_method", "round_robin", methods));
    settings.min_block_size =
        servers.whole("min_block_size", settings.min_block_size, settings.min_block_size, max_whole);
    if (servers.has("threads"))
        settings.threads = static_cast<int>(servers.whole("threads", 1, 1, max_table_threads));
    if (servers.has("memory")) settings.memory = servers.bytes("memory", 0);
    if (servers.has("spill")) {
        if (!settings.memory)
            servers.fail("spill", "'spill' is where rows go that 'memory' has no room for: set 'memory' too");
        settings.spill = servers.text("spill", "");
    }
    settings.reject_not_finite = servers.truth("reject_not_finite", settings.reject_not_finite);
    ServerMetricsOptions metrics;
    if (servers.has("metrics")) metrics.folder = servers.text("metrics", "");
    if (servers.has("metrics_port")) metrics.port = servers.whole_or_text("metrics_port", 0, highest_port);
    const bool measures = servers.has("metrics") || servers.has("metrics_port");
    if (servers.has("metrics_every") && !measures)
        servers.fail("metrics_every",
                     "'metrics_every' needs 'metrics', the folder to write into, or 'metrics_port'");
    const auto seconds =
        servers.number("metrics_every", 10, {0.1, 1e9, "a number of seconds from 0.1 to below 1e9"});
    metrics.every = std::chrono::milliseconds(std::llround(seconds * 1000));
    if (measures) settings.metrics = metrics;
    read_rows(servers, kind, settings);
    return settings;
}

LogSettings read_log(const Section& top) {
    const auto log = top.section("log", {"metrics", "tensorboard", "report", "every_steps"});
    const auto path = [&](const char* key) {
        if (log.has(key) && log.text(key, "").empty()) log.fail(key, fmt::format("'{}' has no name", key));
        return log.has(key) ? std::optional<std::filesystem::path>(log.text(key, "")) : std::nullopt;
    };
    LogSettings settings{.outputs = {.metrics = path("metrics"),
                                     .tensorboard = path("tensorboard"),
                                     .page = path("report"),
                                     .record = {}}};
    if (log.has("every_steps")) settings.every_steps = log.whole("every_steps", 1, 1, max_whole);
    return settings;
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
    const Section top(root, name, "", {"title", "model", "data", "train", "checkpoint", "log", "servers"});
    Job job;
    job.title = top.text("title", file.stem().string());

    job.model = read_model(top);
    const bool reads_logs = job.model.kind == ModelKind::click_through;

    std::vector<std::string> known{"train", "test", "scale", "memory"};
    append(known, click_keys());
    const auto data = top.section("data", known);
    if (!data.has("train"))
        data.fail(
            "train",
            reads_logs
                ? "[data] needs train = { file = \"...tsv\" }: the click log to train on"
                : "[data] needs train = { file = \"...h5\", x = \"...\", y = \"...\" }: what to train on");
    if (reads_logs)
        read_clicks(data, file.parent_path(), job);
    else
        read_samples(data, file.parent_path(), job);

    job.data_memory = data.bytes("memory", job.data_memory);

    job.train = read_training(top);
    job.servers = read_servers(top, job.model.kind);
    if (job.servers) refuse_with_servers(top, job);

    const auto checkpoint =
        top.section("checkpoint", {"dir", "every", "every_steps", "every_minutes", "keep", "async", "format",
                                   "shards", "collective", "hints", "full_every"});
    if (checkpoint.has("dir")) job.checkpoint.dir = checkpoint.text("dir", "");
    if (checkpoint.has("every_steps")) {
        job.checkpoint.every_steps = checkpoint.whole("every_steps", 1, 1, max_whole);
        job.checkpoint.every = std::nullopt;
    }
    if (checkpoint.has("every_minutes")) {
        job.checkpoint.every_minutes = Minutes(
            checkpoint.number("every_minutes", 1, {1e-9, 1e6, "a number of minutes above 0 and below 1e6"}));
        job.checkpoint.every = std::nullopt;
    }
    if (checkpoint.has("every")) job.checkpoint.every = checkpoint.whole("every", 1, 1, max_whole);
    job.checkpoint.files.async = checkpoint.truth("async", job.checkpoint.files.async);
    job.checkpoint.files.format = checkpoint.choice(
        "format", CheckpointFormat::directory, {CheckpointFormat::directory, CheckpointFormat::file},
        [](CheckpointFormat format) { return format == CheckpointFormat::file ? "file" : "directory"; });
    if (job.checkpoint.files.format == CheckpointFormat::file && checkpoint.has("shards"))
        checkpoint.fail("shards", "'shards' is a setting of format = \"directory\", but it is \"file\"");
    job.checkpoint.files.collective = checkpoint.truth("collective", false);
    if (job.checkpoint.files.collective) {
        if (job.checkpoint.files.format != CheckpointFormat::file)
            checkpoint.fail("collective",
                            "'collective' is a setting of format = \"file\", but it is \"directory\"");
        if (checkpoint.has("async") && job.checkpoint.files.async)
            checkpoint.fail("async",
                            "async = true excludes 'collective': ranks write together only between steps");
        job.checkpoint.files.async = false;
        job.checkpoint.files.hints = checkpoint.words("hints");
    } else if (checkpoint.has("hints")) {
        checkpoint.fail("hints", "'hints' are for collective = true");
    }
    if (checkpoint.has("shards"))
        job.checkpoint.files.shards = static_cast<int>(checkpoint.whole("shards", 1, 1, 1'000'000));
    job.checkpoint.full_every = checkpoint.whole("full_every", 1, 1, 1'000'000);
    job.checkpoint.files.keep =
        static_cast<int>(checkpoint.whole("keep", job.checkpoint.files.keep, 1, 1'000'000));
    job.log = read_log(top);
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

std::string name_of(ModelKind kind) {
    return kind == ModelKind::classifier ? "classifier" : "click_through";
}

std::string name_of(LastBatch last_batch) {
    switch (last_batch) {
        case LastBatch::repeat:
            return "repeat";
        case LastBatch::random:
            return "random";
        case LastBatch::drop:
            return "drop";
        case LastBatch::uneven:
            return "uneven";
    }
    return "";
}

std::string name_of(const Decay& decay) {
    static constexpr std::array names{"constant",   "exponential", "natural_exp", "inverse_time",
                                      "polynomial", "piecewise",   "cosine",      "noam"};
    static_assert(names.size() == std::variant_size_v<Decay>);
    return names[decay.index()];
}

}  // namespace dtrain::native
