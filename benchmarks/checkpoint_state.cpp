// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// checkpoint_state save|load|restore FOLDER MEGABYTES: writes a state of 16 equal tensors to disk (save), or
// reads it into new memory (load) or into the memory of an existing state, as a resumed job does (restore).
// Prints the time in seconds, without the creation of the state.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/aligned_memory.hpp"
#include "storage/stored_checkpoint.hpp"

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

using Memory = dtrain::AlignedBytes<64>;

/// Memory like that of a job's state: aligned to cache lines, and already written to.
std::vector<Memory> memory_of(std::int64_t megabytes) {
    const auto bytes = static_cast<std::size_t>(megabytes * (1 << 20) / tensors);
    std::vector<Memory> memory;
    for (std::int64_t i = 0; i < tensors; ++i) {
        memory.push_back(dtrain::make_aligned_bytes<64>(bytes));
        std::fill_n(memory.back().get(), bytes, std::byte{1});
    }
    return memory;
}

void restore(const std::filesystem::path& path, const std::vector<Memory>& state) {
    std::vector<std::byte*> memory;
    for (const auto& tensor : state) memory.push_back(tensor.get());
    dtrain::storage::StoredCheckpoint(path).read(memory);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    try {
        const std::string action = argv[1];
        const auto path = std::filesystem::path(argv[2]) / "state";
        const auto megabytes = std::stoll(argv[3]);
        const auto state = action == "save" ? state_of(megabytes) : dtrain::Checkpoint{};
        const auto memory = action == "restore" ? memory_of(megabytes) : std::vector<Memory>{};
        const auto start = std::chrono::steady_clock::now();
        std::int64_t loaded = tensors;
        if (action == "save")
            dtrain::save_checkpoint_directory(path, state);
        else if (action == "restore")
            restore(path, memory);
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
