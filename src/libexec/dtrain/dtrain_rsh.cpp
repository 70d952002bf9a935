// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/run_main.hpp>

#include "transport/remote_shell.hpp"

int main(int argc, char** argv) {
    return dtrain::run_main("dtrain-rsh", [&] {
        return dtrain::transport::run_remote_shell({argv + 1, argv + argc},
                                                   dtrain::Environment::of_this_process());
    });
}
