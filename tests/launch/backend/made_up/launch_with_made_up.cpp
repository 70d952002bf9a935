// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// dtrain-launch with a scheduler and a launch backend more, which no file of src/ names.
#include <dtrain/run_main.hpp>

#include "launch/backend/made_up/forks.hpp"
#include "launch/backend/registry.hpp"
#include "launch/run_launch.hpp"
#include "scheduler/made_up/spool.hpp"
#include "scheduler/registry.hpp"

int main(int argc, char** argv) {
    const dtrain::tests::Spool spool;
    const dtrain::tests::Forks forks;
    dtrain::scheduler::add(spool);
    dtrain::launch::add_backend(forks);
    return dtrain::run_main("dtrain-launch", [&] {
        return dtrain::launch::run_launch({argv + 1, argv + argc}, dtrain::Environment::of_this_process());
    });
}
