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
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/row_rules.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/server_mode.hpp>
#include <dtrain/state_checkpoints.hpp>
#include <dtrain/variable_block.hpp>

#include "kernels/functors/optimizer_info.hpp"
#include "metrics/outputs.hpp"

namespace dtrain::native {

enum class ModelKind {
    classifier,     ///< classifies samples
    click_through,  ///< predicts the probability of a click
};

struct ModelSettings {
    ModelKind kind = ModelKind::classifier;
    std::vector<std::int64_t> hidden = {128, 64};  ///< sizes of the hidden layers; empty: a linear model
    std::string activation = "relu";
    std::int64_t embedding = 16;  ///< of a click-through model: dimension of the embedding
    /// Of one with parameter servers: maximum number of distinct ids.
    std::int64_t dict_size = 1'000'000'000;
    friend bool operator==(const ModelSettings&, const ModelSettings&) = default;
};

struct TrainSettings {
    std::int64_t epochs = 10;
    std::int64_t batch = 32;                   ///< per (virtual) rank; unused if global_batch is set
    std::optional<std::int64_t> global_batch;  ///< of all ranks together
    int virtual_ranks = 0;                     ///< virtual ranks that compute gradients; 0: the real ones do
    LastBatch last_batch = LastBatch::repeat;
    std::uint64_t seed = 0;
    Optimizer optimizer = Adam{};
    /// Schedule, clipping and decay. The steps per epoch of a cosine schedule are not known yet.
    OptimizerOptions adjust = {};
    bool one_copy = false;  ///< one copy of parameters and optimizer state for all ranks of a node
    /// Local steps of a rank between averages of the parameters; 0: gradients are averaged at every step.
    std::int64_t local_sgd = 0;
    ComputeType products = ComputeType::float32;  ///< "matmul"
    std::optional<Device> device = {};            ///< device of the trainers
    bool nccl = false;
    LossScaling loss_scaling = {};  ///< for products in float16
    bool memory_optimize = false;   ///< variables that are not live at the same time share memory
};

/// Settings of a job in which some ranks are parameter servers.
struct ServerSettings : ParameterServers {
    std::optional<std::int64_t> shrink_every = {};  ///< in epochs; each epoch is one day of the table
};

using Minutes = std::chrono::duration<double, std::ratio<60>>;

struct CheckpointSettings {
    std::optional<std::filesystem::path> dir;  ///< nothing: no checkpoints
    std::optional<std::int64_t> every = 1;     ///< in epochs; the last epoch is always saved
    std::optional<std::int64_t> every_steps;   ///< counted from the very first step
    CheckpointOptions files = {};
    /// With servers: every full_every-th checkpoint has all rows, the others only the rows that changed.
    std::int64_t full_every = 1;
    std::optional<Minutes> every_minutes = {};  ///< since the last one, or since training started
    std::string run = {};                       ///< run id for CheckpointFolder; not a key of the job file
    friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

/// What is measured during training, and where it is written.
struct LogSettings {
    metrics::Outputs outputs;
    std::optional<std::int64_t> every_steps;  ///< interval of rows within epochs; nothing: 20 rows per epoch
};

/// The content of a job file: plain values, checked one by one, independent of the machine.
struct Job {
    std::string title;
    ModelSettings model;
    DatasetSource train_data;
    std::optional<DatasetSource> test_data;
    ClickLayout click_columns;  ///< columns of the click logs
    /// Folder for binary caches of the logs, created if needed; nothing: the logs are held in memory.
    std::optional<std::filesystem::path> click_cache = {};
    /// Limit in bytes per rank; data sets that need more stay on disk.
    std::int64_t data_memory = std::numeric_limits<std::int64_t>::max();
    TrainSettings train;
    CheckpointSettings checkpoint;
    LogSettings log;
    std::optional<ServerSettings> servers;  ///< nothing: the job file has no [servers]
};

/// Parses the text of a job file. Data files are relative to the job file's folder, since they belong to it;
/// the checkpoint folder is relative to the current folder, since the job file may be in a read-only place.
/// @param file used in messages and for its folder
/// @throws UsageError with file, line and key: unknown key (with the nearest known one), wrong type or range
/// (with the value and what is allowed), missing data
Job parse_job(std::string_view text, const std::filesystem::path& file);

/// parse_job() of a file's content. @throws UsageError also if the file cannot be read
Job read_job(const std::filesystem::path& file);

/// "classifier" or "click_through".
std::string name_of(ModelKind kind);

/// "repeat", "random", "drop" or "uneven".
std::string name_of(LastBatch last_batch);

using kernels::learning_rate_of;
using kernels::name_of;  // for an Optimizer

/// "constant", "cosine", ...
std::string name_of(const Decay& decay);

}  // namespace dtrain::native
