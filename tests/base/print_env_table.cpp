// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Prints docs/environment.md; with a file name, writes it there.
#include <cstdio>

#include "base/env_table.hpp"
#include "base/files.hpp"

int main(int argc, char** argv) {
    const auto page = dtrain::env_table_markdown();
    if (argc > 1)
        dtrain::replace_file(argv[1], page);
    else
        std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
}
