// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// checkpoint_state save|load|restore FOLDER MEGABYTES: a state of 16 equal tensors goes to disk (save) or
// comes from there, into new memory (load) or into that of a state that is there, as in a job that goes on
// (restore); prints the seconds that this took, the making of the state not counted.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "io/stored_checkpoint.hpp"

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

void restore(const std::filesystem::path& path, dtrain::Checkpoint& state) {
    const dtrain::io::StoredCheckpoint stored(path);
    std::vector<std::byte*> memory;
    for (auto& [name, tensor] : state.parameters)
        memory.push_back(reinterpret_cast<std::byte*>(std::get<std::vector<float>>(tensor.values).data()));
    stored.read(memory);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    try {
        const std::string action = argv[1];
        const auto path = std::filesystem::path(argv[2]) / "state";
        auto state = action != "load" ? state_of(std::stoll(argv[3])) : dtrain::Checkpoint{};
        const auto start = std::chrono::steady_clock::now();
        std::int64_t loaded = tensors;
        if (action == "save")
            dtrain::save_checkpoint_directory(path, state);
        else if (action == "restore")
            restore(path, state);
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
