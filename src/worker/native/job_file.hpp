// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/click_log.hpp>
#include <dtrain/compute_type.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/device.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/row_rules.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/server_mode.hpp>
#include <dtrain/state_checkpoints.hpp>
#include <dtrain/variable_block.hpp>

#include "model/optimizer_name.hpp"
#include "report/outputs.hpp"

namespace dtrain::native {

enum class ModelKind {
    classifier,     ///< tells classes apart
    click_through,  ///< tells how likely a click is
};

struct ModelSettings {
    ModelKind kind = ModelKind::classifier;
    std::vector<std::int64_t> hidden = {128, 64};  ///< sizes of the hidden layers; empty: a linear model
    std::string activation = "relu";
    std::int64_t embedding = 16;  ///< of a click-through model: numbers for each id
    /// Of one with parameter servers: the most distinct ids.
    std::int64_t dict_size = 1'000'000'000;
    friend bool operator==(const ModelSettings&, const ModelSettings&) = default;
};

struct TrainSettings {
    std::int64_t epochs = 10;
    std::int64_t batch = 32;                   ///< per (virtual) rank; not used when global_batch is there
    std::optional<std::int64_t> global_batch;  ///< of all ranks together
    int virtual_ranks = 0;                     ///< that give the gradients; 0: the real ranks do
    LastBatch last_batch = LastBatch::repeat;
    std::uint64_t seed = 0;
    Optimizer optimizer = Adam{};
    /// Schedule, clipping and decay. The steps of an epoch, which a cosine schedule counts, are not known
    /// yet.
    OptimizerOptions adjust = {};
    bool one_copy = false;       ///< of parameters and optimizer state for all ranks of a node
    std::int64_t local_sgd = 0;  ///< steps of a rank alone before parameters are averaged; 0: gradients are
    ComputeType products = ComputeType::float32;  ///< "matmul"
    std::optional<Device> device = {};            ///< of trainers
    bool nccl = false;
    LossScaling loss_scaling = {};  ///< of products of float16
    bool memory_optimize = false;   ///< variables that are never needed at the same time share memory
};

/// Of a job in which some ranks are parameter servers.
struct ServerSettings {
    std::optional<int> count;       ///< ranks that serve; none: the launcher says
    Device device = Device::cpu();  ///< of their dense parameters
    ServerMode mode = ServerMode::sync;
    std::int64_t staleness = 0;
    int most_merged = 1;
    std::int64_t push_every = 100;  ///< steps; geo
    WireType wire = WireType::float32;
    bool slice = true;  ///< large parameters into blocks
    SplitMethod split_method = round_robin;
    std::int64_t min_block_size = 8192;
    std::optional<int> threads = {};     ///< of each server, for its tables; none: what its processors allow
    std::optional<std::int64_t> memory;  ///< bytes, of each server's tables; none: all rows are in memory
    std::optional<std::filesystem::path> spill;     ///< where the other rows go; none: $TMPDIR or /tmp
    RowRules rows = {};                             ///< of the table of ids
    std::optional<std::int64_t> shrink_every = {};  ///< epochs; each is a day of the table
    bool reject_not_finite = false;
    std::optional<std::filesystem::path> metrics = {};  ///< folder for what servers tell of themselves
    std::optional<std::string> metrics_port = {};       ///< of the first server, or HOST:PORT
    double metrics_every = 10;                          ///< seconds
};

using Minutes = std::chrono::duration<double, std::ratio<60>>;

struct CheckpointSettings {
    std::optional<std::filesystem::path> dir;  ///< none: no checkpoints
    std::optional<std::int64_t> every = 1;     ///< epochs; the last one is always saved
    std::optional<std::int64_t> every_steps;   ///< counted from the very first step
    CheckpointOptions files = {};
    /// With servers: of so many checkpoints one has all rows, the others those that changed.
    std::int64_t full_every = 1;
    std::optional<Minutes> every_minutes = {};  ///< since the last one, or since training began
    std::string run = {};                       ///< mark for CheckpointFolder; no part of the file
    friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

/// What is measured while the job trains, and where it goes.
struct LogSettings {
    report::Outputs outputs;
    std::optional<std::int64_t> every_steps;  ///< a row within epochs; none: 20 rows an epoch
};

/// What a job file says: plain values, checked one by one, nothing of the machine.
struct Job {
    std::string title;
    ModelSettings model;
    DatasetSource train_data;
    std::optional<DatasetSource> test_data;
    ClickLayout click_columns;  ///< of the files of a click-through model
    /// Folder for them in binary, made when it is needed; none: they are in memory.
    std::optional<std::filesystem::path> click_cache = {};
    /// Bytes; data sets that need more stay on disk. Each rank has as much.
    std::int64_t data_memory = std::numeric_limits<std::int64_t>::max();
    TrainSettings train;
    CheckpointSettings checkpoint;
    LogSettings log;
    std::optional<ServerSettings> servers;  ///< none: the job says nothing of servers
};

/// Reads a job file's text. Data files are relative to the job file's folder, since they belong to it; the
/// checkpoint folder is relative to where the program runs, since the job file may lie where nobody may
/// write.
/// @param file used in messages and for its folder
/// @throws UsageError with file, line and key: unknown key (with the nearest known one), wrong type or range
/// (with the value and what is allowed), missing data.
Job parse_job(std::string_view text, const std::filesystem::path& file);

/// parse_job() of a file's content. @throws UsageError also when the file cannot be read.
Job read_job(const std::filesystem::path& file);

/// "classifier" or "click_through".
std::string name_of(ModelKind kind);

/// "repeat", "random" or "drop".
std::string name_of(LastBatch last_batch);

using model::name_of;  // of an Optimizer
double learning_rate_of(const Optimizer& optimizer);

/// "constant", "cosine", ...
std::string name_of(const Decay& decay);

}  // namespace dtrain::native
