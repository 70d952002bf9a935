// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/command_table.hpp"

#include <algorithm>

namespace dtrain::launch {

std::span<const CommandRow> command_table() {
    static const std::vector<CommandRow> rows{
        {.name = "submit",
         .arguments = "[options] script [script options]",
         .help = "Give the job to the queue of Slurm or PBS"},
        {.name = "status",
         .arguments = "[--json] [JOB]",
         .help = "Your jobs, running or in a queue; with JOB rank by rank",
         .options = {"--json"}},
        {.name = "logs",
         .arguments = "[-f] [--rank RANKS] JOB",
         .help = "What ranks have printed; -f: until the job ends, and with its status",
         .options = {"--follow", "--rank"}},
        {.name = "stacks",
         .arguments = "[--rank RANKS] JOB",
         .help = "Where every rank is just now; the job goes on",
         .options = {"--rank"}},
        {.name = "explain",
         .arguments = "JOB",
         .help = "For which rank the others wait, and what it does; the job goes on"},
        {.name = "cancel",
         .arguments = "[--now] JOB",
         .help = "Stop a job as Ctrl-C does, and wait for its end; --now: kill it",
         .options = {"--now"}},
        {.name = "compare",
         .arguments = "--output FILE.html [NAME=]RUN [NAME=]RUN...",
         .help = "Curves, results and settings of several runs on one page; RUN: a page of --report, or "
                 "JSON lines of --metrics",
         .options = {"--output"},
         .takes_files = true},
        {.name = "key",
         .arguments = "show | install [KEY]",
         .help = "The key that the launchers of several nodes share"},
    };
    return rows;
}

const CommandRow& command_row(std::string_view name) {
    return *std::ranges::find(command_table(), name, &CommandRow::name);
}

}  // namespace dtrain::launch
