// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Writes the pages of docs/ that are made from tables in the sources.
#include <cstdio>
#include <filesystem>

#include "base/env_table.hpp"
#include "base/files.hpp"
#include "launch/options/compatibility.hpp"
#include "launch/torchrun/torchrun_page.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: update_docs DOCS_FOLDER\n", stderr);
        return 2;
    }
    const std::filesystem::path docs = argv[1];
    dtrain::replace_file(docs / "environment.md", dtrain::env_table_markdown());
    dtrain::replace_file(docs / "compatibility.md", dtrain::launch::compatibility_markdown());
    dtrain::replace_file(docs / "torchrun.md", dtrain::launch::torchrun::torchrun_markdown());
    return 0;
}
