// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program whose data are there.
#include <dtrain/dtrain.hpp>

using namespace dtrain;

int run(int argc, char** argv, const Dataset& train, const Dataset& test) {
    {
        // the block
    }
    return 0;
}
