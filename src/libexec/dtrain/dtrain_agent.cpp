// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "link/agent.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-agent", [&] {
        return dtrain::link::run_agent({argv + 1, argv + argc}, dtrain::Environment::of_this_process());
    });
}
