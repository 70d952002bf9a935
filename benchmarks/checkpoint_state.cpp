// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// checkpoint_state save|load FOLDER MEGABYTES: a state of 16 equal tensors goes to disk or comes from there;
// prints the seconds that this took, the making of the state not counted.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

namespace {

constexpr std::int64_t tensors = 16;

dtrain::Checkpoint state_of(std::int64_t megabytes) {
    dtrain::Checkpoint checkpoint;
    const auto rows = megabytes * (1 << 20) / 4 / tensors / 1024;
    for (std::int64_t i = 0; i < tensors; ++i) {
        std::vector<float> values(static_cast<std::size_t>(rows * 1024));
        for (std::size_t at = 0; at < values.size(); ++at)
            values[at] = static_cast<float>(at % 8191) + static_cast<float>(i);
        checkpoint.parameters[fmt::format("w{:02}", i)] = {{rows, 1024}, std::move(values)};
    }
    return checkpoint;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    try {
        const std::string action = argv[1];
        const auto path = std::filesystem::path(argv[2]) / "state";
        const auto state = action == "save" ? state_of(std::stoll(argv[3])) : dtrain::Checkpoint{};
        const auto start = std::chrono::steady_clock::now();
        std::int64_t loaded = tensors;
        if (action == "save")
            dtrain::save_checkpoint_directory(path, state);
        else
            loaded = static_cast<std::int64_t>(dtrain::load_checkpoint(path).parameters.size());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (loaded != tensors) return 1;
        fmt::print("{}\n", seconds.count());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "checkpoint_state: %s\n", error.what());
        return 1;
    }
}
