// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/torchrun/option_table.hpp"

#include <algorithm>
#include <cctype>

namespace dtrain::launch::torchrun {
namespace {

// clang-format off
const std::vector<OptionRow>& rows() {
    static const std::vector<OptionRow> table{
    {.name = "nnodes", .value = "N", .otherwise = "1", .help = "Number of nodes, or MIN:MAX",
     .note = "MIN:MAX with --rdzv-backend etcd-v2; with c10d MIN and MAX must be equal"},
    {.name = "nproc-per-node", .value = "N", .otherwise = "1", .help = "Processes on each node: a number, auto, gpu or cpu",
     .note = "auto: one for each visible GPU, without GPUs one for each processor; xpu and other devices are refused"},
    {.name = "rdzv-backend", .value = "NAME", .otherwise = "static", .help = "How nodes meet: static, c10d, etcd or etcd-v2",
     .note = "etcd and etcd-v2 both use etcd's API of version 3"},
    {.name = "rdzv-endpoint", .value = "HOST:PORT", .help = "Where nodes meet",
     .note = "c10d: the launcher on HOST is node 0 and listens there (default port 29400)"},
    {.name = "rdzv-id", .value = "ID", .otherwise = "none", .help = "Name of the job"},
    {.name = "rdzv-conf", .value = "KEY=VALUE,...", .help = "Settings of the rendezvous",
     .note = "timeout and join_timeout: how long nodes wait for each other; other keys have no effect"},
    {.name = "standalone", .help = "One node, at a free port; the --rdzv options do not count"},
    {.name = "max-restarts", .value = "N", .otherwise = "0", .help = "Start all ranks again after a failure, at most N times"},
    {.name = "monitor-interval", .value = "S", .otherwise = "0.1", .help = "Seconds between looks at the ranks",
     .answer = Answer::no_effect, .note = "the end of a rank is an event, nothing is polled"},
    {.name = "start-method", .value = "METHOD", .otherwise = "spawn", .help = "How Python starts the ranks",
     .answer = Answer::no_effect, .choices = {"spawn", "fork", "forkserver"}, .note = "ranks are programs of their own, not children of a Python process"},
    {.name = "event-log-handler", .value = "NAME", .otherwise = "null", .help = "Python plug-in for torchrun's events",
     .answer = Answer::refused, .note = "it is loaded by torch; --report and --metrics-port of dtrain-launch have what it would tell"},
    {.name = "role", .value = "NAME", .otherwise = "default", .help = "ROLE_NAME of the ranks"},
    {.name = "module", .short_name = "m", .help = "The script is a module: python -m"},
    {.name = "no-python", .help = "The script is a program, not to be started by Python"},
    {.name = "run-path", .help = "The script is run by Python's runpy", .note = "in a Python of its own, by python -u"},
    {.name = "log-dir", .value = "DIR", .help = "Where the folder of this run's logs is made",
     .note = "without it a temporary folder, which is kept if the job fails"},
    {.name = "redirects", .short_name = "r", .value = "STREAMS", .otherwise = "0", .help = "Streams that go into files instead of the console: 0 none, 1 stdout, 2 stderr, 3 both; by local rank: 0:3,1:1"},
    {.name = "tee", .short_name = "t", .value = "STREAMS", .otherwise = "0", .help = "Streams that go into files and to the console, written as for --redirects"},
    {.name = "log-line-prefix-template", .value = "TEXT", .help = "Before each line of --tee: ${role_name}, ${local_rank}, ${rank}, ${hostname} (default: [${role_name}${local_rank}]:)"},
    {.name = "local-ranks-filter", .value = "LIST", .help = "Local ranks whose output is on the console: 0,1"},
    {.name = "duplicate-stdout-filters", .value = "LIST", .help = "Texts whose lines are also written into filtered_stdout.log",
     .answer = Answer::refused, .note = "grep finds them in the files of --tee and --redirects"},
    {.name = "duplicate-stderr-filters", .value = "LIST", .help = "Texts whose lines are also written into filtered_stderr.log",
     .answer = Answer::refused, .note = "grep finds them in the files of --tee and --redirects"},
    {.name = "node-rank", .value = "N", .otherwise = "0", .help = "Number of this node, with --rdzv-backend static"},
    {.name = "master-addr", .value = "HOST", .otherwise = "127.0.0.1", .help = "Address of node 0, with --rdzv-backend static"},
    {.name = "master-port", .value = "PORT", .help = "Port on node 0, with --rdzv-backend static (default: 29500)",
     .note = "on one node it is MASTER_PORT; on several the launchers meet there, and MASTER_PORT is another one"},
    {.name = "local-addr", .value = "HOST", .help = "This node's own address"},
    {.name = "logs-specs", .value = "NAME", .help = "Python plug-in that names the logs", .answer = Answer::refused, .note = "it is loaded by torch"},
    {.name = "numa-binding", .value = "MODE", .help = "Bind ranks to processors near their GPUs",
     .choices = {"node", "socket", "exclusive", "core-complex"}, .note = "ranks are always bound near their GPUs, each to cores of its own, as exclusive has it"},
    {.name = "signals-to-handle", .value = "LIST", .otherwise = "SIGTERM,SIGINT,SIGHUP,SIGQUIT", .help = "Signals that stop the job",
     .answer = Answer::no_effect, .note = "SIGTERM, SIGINT, SIGHUP and SIGQUIT stop the job; SIGUSR1 and SIGUSR2 are passed on to the ranks"},
    {.name = "shutdown-timeout", .value = "S", .help = "Seconds between asking ranks to stop and killing them (default: 30)",
     .note = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT, too"},
    {.name = "virtual-local-rank", .help = "LOCAL_RANK is 0 in all ranks, and each sees its own GPU only"},
    };
    return table;
}
// clang-format on

}  // namespace

std::span<const OptionRow> option_table() {
    return rows();
}

const OptionRow& row_of(std::string_view name) {
    std::string dashed(name);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    return *std::find_if(rows().begin(), rows().end(),
                         [&](const OptionRow& row) { return row.name == dashed; });
}

std::vector<std::string> spellings(const OptionRow& row) {
    std::vector<std::string> out;
    if (!row.short_name.empty()) out.push_back("-" + std::string(row.short_name));
    out.push_back("--" + std::string(row.name));
    auto underscored = out.back();
    std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
    if (underscored != out.back()) out.push_back(underscored);
    return out;
}

std::string preset_variable(const OptionRow& row) {
    std::string out = "PET_";
    for (const char letter : row.name)
        out += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return out;
}

}  // namespace dtrain::launch::torchrun
