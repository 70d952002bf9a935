// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// How to find a running job: its launcher keeps a small file in a folder of its user.
namespace dtrain::launch {

struct JobRecord {
    std::string job;            ///< its name, which replaces %j in --log_dir
    std::string host;           ///< where its launcher runs; "" for a job that is only submitted
    int pid = 0;                ///< of the launcher
    std::uint64_t started = 0;  ///< start time of that process, as in ProcessStat
    std::string engine;         ///< "mpirun" or "srun"
    std::string scheduler;      ///< "slurm", "pbs" or ""
    std::string scheduler_job;  ///< the job's id in the scheduler
    std::string program;
    std::string log_dir;             ///< absolute
    std::int64_t begin_us = 0;       ///< since 1970
    std::string socket;              ///< where the launcher answers requests; "": nowhere
    int size = 0;                    ///< number of ranks; 0 while it is not known
    std::vector<std::string> hosts;  ///< its nodes, named as in the plan
    std::string pid_space;           ///< where `pid` is valid, see own_pid_space(); "": unknown

    friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

std::string to_json(const JobRecord& record);

/// Parses a record; nothing if the text does not hold one.
std::optional<JobRecord> parse_record(std::string_view json);

/// A name that is unique among running jobs: "train@node1:4711"; that of a submitted job is its number.
std::string full_name(const JobRecord& record);

/// Whether `word` may refer to this job: its name, full name or number.
bool is_called(const JobRecord& record, std::string_view word);

/// The folder of a user's records.
/// @return nothing if there is neither DTRAIN_JOBS_DIR nor a home
std::optional<std::filesystem::path> records_folder(const Environment& environment);

/// The file of a record in that folder.
std::filesystem::path record_file(const std::filesystem::path& folder, const JobRecord& record);

/// Writes a record that only its user can read; creates the folder.
/// @throws std::exception if that fails
void write_record(const std::filesystem::path& folder, const JobRecord& record);

/// All records, the oldest job first. Files that are not records are skipped.
std::vector<JobRecord> read_records(const std::filesystem::path& folder);

/// Identifies the boot of this machine and the container in which this process' pid is valid; "" if that is
/// unknown.
std::string own_pid_space();

/// Removes the records and related files of this machine's launchers that were killed. Keeps those of another
/// boot or container, of which it is unknown whether they run.
void remove_lost(const std::filesystem::path& folder, const std::string& host);

/// Whether the launcher of this machine's record still runs.
bool is_running(const JobRecord& record);

/// Removes the files that a killed launcher left, as listed in its record.
void remove_traces(const std::filesystem::path& folder, const JobRecord& record);

}  // namespace dtrain::launch
