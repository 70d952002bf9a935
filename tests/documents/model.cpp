// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program with its data, and a model that is prepared.
#include <memory>
#include <string>

#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>
#include <dtrain/parallel_env.hpp>

using namespace dtrain;

void train(int argc, char** argv, const Dataset& train, const Dataset& test, Model& model) {
    {
        // the block
    }
}
