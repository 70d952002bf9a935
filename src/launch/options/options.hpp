// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options/choices.hpp"
#include "protocol/hang_limit.hpp"
#include "protocol/torch_job.hpp"

namespace dtrain::launch {

/// What dtrain-run asks for beyond the options of dtrain-launch.
struct TorchRun {
    cluster::TorchJob job;
    std::vector<std::string> interpreter;  ///< to put before the script: python3 -u
    bool script_is_file = true;            ///< and not a module
    bool needs_gpus = false;               ///< a node without GPUs is an error
    std::optional<int> master_port;        ///< MASTER_PORT; not set: a free one

    friend bool operator==(const TorchRun&, const TorchRun&) = default;
};

/// A dtrain-launch command line, completed from settings files and variables. The table of options
/// (option_table.cpp) explains each field.
struct Options {
    std::string log_dir = "log";
    std::optional<RunMode> run_mode;  ///< nothing if not given: derived from the other options
    std::string job_id = "default";
    std::string log_level = "INFO";
    bool log_overwrite = false;
    bool trust_log_dir = false;  ///< even if other users can change it
    ProgramBackend backend = ProgramBackend::automatic;
    std::optional<std::string> gpus;
    std::optional<int> nproc_per_node;
    std::optional<std::string> auto_parallel_config;
    std::optional<std::string> rank_mapping_file;
    bool enable_auto_mapping = false;

    std::string ips = "127.0.0.1";
    std::optional<std::string> hostfile;
    std::optional<std::string> host;
    std::optional<std::string> master;
    std::string nnodes = "1";
    std::optional<int> rank;  ///< node rank
    bool sort_ip = false;
    std::optional<std::string> network_interface;
    std::optional<int> link_port;
    std::chrono::milliseconds start_timeout{600'000};
    std::optional<int> start_port;

    std::optional<int> server_num;
    std::optional<int> worker_num;
    Device::Kind server_device = Device::Kind::cpu;
    std::string heter_worker_num;  ///< one number per stage, "2;1"
    std::string servers;
    std::string workers;
    std::string heter_workers;  ///< stages separated by ';', members by ','
    std::string heter_devices;  ///< a device type per stage
    std::optional<int> http_port;
    std::optional<int> with_gloo;

    std::optional<int> max_restart;

    std::optional<std::string> elastic_server;
    std::string np;  ///< nodes of an elastic job: "2" or "2:4"; "" when not given
    std::optional<int> elastic_level;
    std::chrono::milliseconds elastic_timeout{30'000};
    std::chrono::milliseconds elastic_ttl{60'000};
    std::optional<std::string> elastic_pre_hook;
    std::optional<std::string> scale;
    bool force = false;

    VisibleGpus visible = VisibleGpus::narrow;
    Binding bind = Binding::automatic;
    std::string engine = "auto";  ///< or the name of a launch backend
    std::chrono::milliseconds grace{10'000};
    std::optional<cluster::HangLimit> hang_timeout;  ///< hang_options.hpp tells what follows
    std::optional<OnHang> on_hang;
    bool trace_mpi = false;
    std::optional<std::string> tee;
    bool quiet = false;
    bool no_banner = false;
    std::vector<std::string> env;  ///< NAME or NAME=VALUE
    std::optional<std::string> env_file;
    std::optional<std::string> setup;  ///< shell commands to run before the program
    std::optional<std::string> wrap;
    std::optional<std::string> wrap_ranks;
    std::optional<std::uintmax_t> log_max_size;  ///< bytes
    int log_mode = 0600;
    std::optional<std::string> report;
    std::optional<std::string> metrics_port;  ///< PORT or HOST:PORT
    bool check = false;
    std::optional<PlanForm> dry_run;  ///< nothing: the job runs

    std::optional<std::string> time;  ///< time limit of a submitted job
    std::optional<std::string> partition;
    std::optional<std::string> account;
    std::optional<int> cpus;  ///< per node
    std::optional<std::string> modules;
    std::string scheduler = "auto";   ///< or the name of a scheduler
    std::vector<std::string> sbatch;  ///< more options for sbatch
    std::vector<std::string> qsub;    ///< more options for qsub

    std::string script;
    std::vector<std::string> script_arguments;
    std::optional<TorchRun> torch;  ///< only if dtrain-run starts the job

    friend bool operator==(const Options&, const Options&) = default;
};

/// A value for an option from outside the command line.
struct Setting {
    std::string name;  ///< as typed, without dashes
    std::string value;
    std::string origin;  ///< "/etc/dtrain.toml"
};

struct ParsedOptions {
    Options options;
    std::optional<std::string> text;             ///< --help and the like: print this and exit with 0
    std::map<std::string, std::string> origins;  ///< origin of each value that is not the default
    std::vector<std::string> notices;            ///< logged as warnings
    std::vector<std::string> hints;              ///< logged as hints: options that may be a mistake
};

/// Parsing ends at the first argument that is not an option; everything after it belongs to the script. Later
/// sources take precedence: defaults, `settings` in order, DTRAIN_* variables, the command line, and then, as
/// with Paddle, the variables that override it. Pure.
/// @throws UsageError with one line; for an unknown option it names the nearest known one.
ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment,
                            const std::vector<Setting>& settings = {});

/// The defaults, changed by settings files only: for a job that a command line of another program describes.
/// @throws UsageError naming the setting
Options options_of(const std::vector<Setting>& settings);

}  // namespace dtrain::launch
