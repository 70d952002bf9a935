// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "launch/run_launch.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-launch", [&] {
        return dtrain::launch::run_launch({argv + 1, argv + argc}, dtrain::Environment::of_this_process());
    });
}
