// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program.hpp>
#include <dtrain/var.hpp>

#include "native/job_file.hpp"

namespace dtrain::native {

/// The ranks that compute gradients.
struct Ranks {
    int real = 1;
    int virtual_ones = 0;        ///< 0: the real ranks
    bool one_copy = false;       ///< one copy of parameters and optimizer state per node
    std::int64_t local_sgd = 0;  ///< as TrainSettings::local_sgd
    std::optional<LossScaling> loss_scaling = {};
    bool by_servers = false;  ///< parameter servers add the gradients and update the parameters
};

/// A job's model as programs for one rank. Every kind of model has an input `weight` [local_batch]: 1, or 0
/// for padding rows.
struct Model {
    Program train;  ///< one training step, data parallel over the ranks; with by_servers: for one rank alone
    Program test;   ///< only the metrics
    std::string loss_sum;         ///< [1], sum of weight * loss over the local batch
    std::string correct;          ///< [1], sum of weight over correctly classified samples; "": no classifier
    std::string scores;           ///< [local_batch], higher means label 1 is more likely; "": a classifier
    std::string labels;           ///< [local_batch], input: 1 or 0, compared with the scores
    std::string description;      ///< "64-128-64-10 relu"
    std::int64_t parameters = 0;  ///< number of trainable values
};

inline constexpr const char* fed_weight = "weight";

/// Appends the hidden layers, each fully connected to the previous one; returns the last one, or x if there
/// is none.
Var append_hidden_layers(Program& program, const Var& x, const ModelSettings& settings);

/// "64-128-64-10 relu": extents of x, the hidden layers and the output.
std::string layers_text(std::int64_t inputs, const ModelSettings& settings, std::int64_t outputs);

/// Derives the program that only computes the metrics from the training program.
Program test_program(const Model& model);

/// Completes a model whose `train` ends with the metrics and the `loss` to minimize: adds gradients, updates
/// and the communication between ranks, and creates `test`. Pure. @throws ProgramError
Model completed(Model model, const std::string& loss, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust);

}  // namespace dtrain::native
