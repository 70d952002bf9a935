// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "launch/check/check_node.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-check", [&] {
        return dtrain::launch::run_check_node({argv + 1, argv + argc},
                                              dtrain::Environment::of_this_process());
    });
}
