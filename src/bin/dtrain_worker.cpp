// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "worker/run_rank.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-worker", [&] {
        return dtrain::worker::run_rank(argv[0], {argv + 1, argv + argc},
                                        dtrain::Environment::of_this_process());
    });
}
