// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program with its data, the options of their batches, and a network.
#include <dtrain/dataset.hpp>
#include <dtrain/nn.hpp>
#include <dtrain/parallel_env.hpp>

using namespace dtrain;

void train(int argc, char** argv, const Dataset& train, const nn::DataLoaderOptions& batches,
           nn::Sequential& mnist) {
    {
        // the block
    }
}
