// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program.hpp>

#include "worker/native/job_file.hpp"

namespace dtrain::native {

/// Who gives the gradients.
struct Ranks {
    int real = 1;
    int virtual_ones = 0;        ///< 0: the real ranks do
    bool one_copy = false;       ///< of parameters and optimizer state on each node
    std::int64_t local_sgd = 0;  ///< as TrainSettings::local_sgd
    std::optional<LossScaling> loss_scaling = {};
    bool by_servers = false;  ///< parameter servers add the gradients and update
};

/// A job's model as programs for one rank. Every kind of model is fed `weight` [local_batch]: 1, or 0 for
/// rows that are padding.
struct Model {
    Program train;  ///< a step of training, data parallel over the ranks; by_servers: of one rank alone
    Program test;   ///< the metrics alone
    std::string loss_sum;         ///< [1], sum of weight * loss over the local batch
    std::string correct;          ///< [1], sum of weight over what is classified right; "": no classifier
    std::string scores;           ///< [local_batch], the higher the likelier is label 1; "": a classifier
    std::string labels;           ///< [local_batch], fed: 1 or 0, what the scores are compared with
    std::string description;      ///< "64-128-64-10 relu"
    std::int64_t parameters = 0;  ///< numbers to train
};

inline constexpr const char* fed_weight = "weight";

/// Appends the hidden layers, each fully connected to the one before; returns the last one, or x.
std::string append_hidden_layers(Program& program, const std::string& x, const ModelSettings& settings);

/// "64-128-64-10 relu": extents of x, of the hidden layers and of the output.
std::string layers_text(std::int64_t inputs, const ModelSettings& settings, std::int64_t outputs);

/// A program that makes the model's metrics alone, of one that trains it.
Program test_program(const Model& model);

/// Of a model whose `train` goes up to the metrics and to `loss`, which is to be small: adds gradients,
/// updates and the exchange between ranks, and makes `test`. Pure. @throws ProgramError
Model completed(Model model, const std::string& loss, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust);

}  // namespace dtrain::native
