// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/torchrun/torchrun_page.hpp"

#include <fmt/format.h>

#include "launch/torchrun/option_table.hpp"

namespace dtrain::launch::torchrun {
namespace {

constexpr const char* introduction = R"(<!-- Generated from src/launch/torchrun: ninja update-docs -->
# dtrain-run: torchrun's command line

`dtrain-run` takes the command lines of `torchrun` (torch 2.15). It needs no torch itself, starts ranks through mpirun, pins
them near their GPUs, and names the rank that failed first.

```sh
dtrain-run --nproc-per-node 4 train.py --lr 0.1
```

One rank for each GPU, of a Python module:

<!-- test: stand-ins dtrain-run -->
```sh
dtrain-run --standalone --nproc-per-node gpu -m package.train
```

On several nodes, the same line on each; the launcher on the node of the endpoint is node 0:

<!-- test: stand-ins dtrain-run -->
```sh
dtrain-run --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint node0:29400 --rdzv-id 7 train.py
```

Under Slurm, `srun --ntasks-per-node 1 dtrain-run ...` with such a line starts one launcher on each node, as it does with
torchrun. The nodes prove a key to each other first ([nodes.md](nodes.md)).

## Options

Each also with `_` for `-`, and preset by a variable: `PET_NNODES`, `PET_NPROC_PER_NODE`, ... *done*: works; *accepted, no
effect*: there is nothing for it to change; *refused*: one line and exit status 2.

| option | dtrain-run | |
|---|---|---|
)";

constexpr const char* differences = R"(
## What differs

| | torchrun | dtrain-run |
|---|---|---|
| exit status of a failed job | 1 | that of the rank that failed first; 128 + n for signal n |
| a wrong command line | a traceback, status 1 or 2 | one line, status 2, and nothing has started |
| `TORCHELASTIC_USE_AGENT_STORE` | `True` or `False` | `False`: rank 0 opens the store at `MASTER_PORT` itself |
| `MASTER_ADDR` on one node | the host's name, or what was given | `127.0.0.1` |
| `MASTER_PORT` on several nodes | `--master-port` | another one: the launchers meet at `--master-port` |
| `TORCHELASTIC_RUN_ID` of a job on one node with `--rdzv-id` only | a random one | the given one |
| `TORCHELASTIC_SIGNALS_TO_HANDLE` | set | not set |
| `--` among the script's arguments | dropped | stays |
| `--run-path` | in the launcher's interpreter | `python -u` |
| `OMP_NUM_THREADS`, if it is not set | 1 with several ranks | the processors of the rank |
| processors of a rank | all, without `--numa-binding` | its own, near its GPU |
| output of several ranks | pieces of lines may mix | whole lines |
| logs | only with `--redirects` or `--tee` | always both streams of each rank, in the same folders |
| logs without `--log-dir` | stay in a temporary folder | stay in a temporary folder if the job fails |
| variables | | Paddle's and dtrain's, too: [environment.md](environment.md) |

Settings of /etc/dtrain.toml and ~/.config/dtrain.toml hold for it, too ([launching.md](launching.md#where-values-come-from)).
What follows a failure (the report, `--max-restarts`) is that of dtrain-launch: [failures.md](failures.md).
`dtrain-launch status`, `logs` and `cancel` find the job, too: [following.md](following.md).
)";

std::string row_text(const OptionRow& row) {
    const auto short_name = row.short_name.empty() ? "" : fmt::format("`-{}`, ", row.short_name);
    return fmt::format("| {}`--{}` | {} | {} |\n", short_name, row.name, to_string(row.answer),
                       row.note.empty() ? row.help : row.note);
}

}  // namespace

std::string torchrun_markdown() {
    std::string out = introduction;
    for (const auto& row : option_table()) out += row_text(row);
    return out + differences;
}

}  // namespace dtrain::launch::torchrun
