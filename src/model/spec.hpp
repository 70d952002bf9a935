// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <dtrain/model.hpp>

/// Builds programs from a network. Pure.
namespace dtrain::model {

/// A network, and its inputs and labels.
struct ModelSpec {
    Network network;
    std::vector<SampleSpec> inputs;
    std::vector<SampleSpec> labels;
};

/// Data variable [batch]: 1, or 0 for padding rows.
inline constexpr const char* fed_weight = "batch.weight";

struct NetworkProgram {
    Program program;
    std::string output;  ///< float32 [batch, ...]
};

/// The network alone. @throws ProgramError if a spec or the network's output is invalid
NetworkProgram network_program(const ModelSpec& spec, std::int64_t batch);

/// The network for one sample, after checking that it accepts other batch sizes with the same parameters.
/// @throws ProgramError
Program checked_network(const ModelSpec& spec);

struct LossProgram {
    Program program;
    std::string loss;          ///< [1]: the value to minimise
    std::string loss_sum;      ///< [1]: sum of weight * loss over the batch
    std::string correct;       ///< [1]: sum of weight over correct rows; "": accuracy is not a metric
    std::string scores;        ///< one score per sample; "": the area under the curve is not a metric
    std::string scored_label;  ///< data variable: the label that scores are compared with
};

/// The network with its loss and metrics. @throws ProgramError if labels do not match them
LossProgram loss_program(const ModelSpec& spec, const Loss& loss, const std::vector<Metric>& metrics,
                         std::int64_t batch);

/// "accuracy", "auc".
std::string name_of(const Metric& metric);

/// Identification of such a model in a checkpoint, for CheckpointHeader::job. @param network
/// network_program() for one sample
std::map<std::string, std::string> job_fields(const ModelSpec& spec, const Program& network, const Loss& loss,
                                              const Optimizer& optimizer);

}  // namespace dtrain::model
