// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <dtrain/model.hpp>

/// From a network to programs. Pure.
namespace dtrain::model {

/// A network, and what is fed to it.
struct ModelSpec {
    Network network;
    std::vector<SampleSpec> inputs;
    std::vector<SampleSpec> labels;
};

/// Fed [batch]: 1, or 0 for rows that are padding.
inline constexpr const char* fed_weight = "batch.weight";

struct NetworkProgram {
    Program program;
    std::string output;  ///< float32 [batch, ...]
};

/// The network alone. @throws ProgramError when a spec or the network's output does not fit
NetworkProgram network_program(const ModelSpec& spec, std::int64_t batch);

/// The network for one sample, once it is seen that it takes other batches with the same parameters.
/// @throws ProgramError
Program checked_network(const ModelSpec& spec);

struct LossProgram {
    Program program;
    std::string loss;          ///< [1]: what is to be small
    std::string loss_sum;      ///< [1]: sum of weight * loss over the batch
    std::string correct;       ///< [1]: sum of weight over what is right; "": accuracy is no metric
    std::string scores;        ///< a number for each sample; "": the area under the curve is no metric
    std::string scored_label;  ///< fed: the label that scores are compared with
};

/// The network with its loss and metrics. @throws ProgramError when labels do not fit them
LossProgram loss_program(const ModelSpec& spec, const Loss& loss, const std::vector<Metric>& metrics,
                         std::int64_t batch);

/// "accuracy", "auc".
std::string name_of(const Metric& metric);

/// What a checkpoint of such a model says that it belongs to, as CheckpointHeader::job.
/// @param network network_program() for one sample
std::map<std::string, std::string> job_fields(const ModelSpec& spec, const Program& network, const Loss& loss,
                                              const Optimizer& optimizer);

}  // namespace dtrain::model
