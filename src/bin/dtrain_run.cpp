// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "launch/run_torchrun.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-run", [&] {
        return dtrain::launch::run_torchrun({argv + 1, argv + argc}, dtrain::Environment::of_this_process());
    });
}
