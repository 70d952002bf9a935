// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Writes the checkpoints of tests/storage/released, before a release whose formats are new: write_released
// FOLDER VERSION
#include <filesystem>
#include <string>

#include "storage/released_checkpoints.hpp"
#include "storage/save_as_ranks.hpp"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::filesystem::path folder = argv[1];
    const auto name = [&](const std::string& format) { return folder / (argv[2] + ("-format-" + format)); };
    dtrain::save_checkpoint_directory(name("2"), dtrain::tests::within_an_epoch(), 2);
    dtrain::tests::save_as_ranks(name("3.h5"), dtrain::tests::within_an_epoch(), 2);
}
