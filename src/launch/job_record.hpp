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

/// How a running job is found again: its launcher keeps a small file in a folder of its user.
namespace dtrain::launch {

struct JobRecord {
    std::string job;            ///< its name: what %j in --log_dir stands for
    std::string host;           ///< where its launcher runs; "" for a job that was only submitted
    int pid = 0;                ///< the launcher's
    std::uint64_t started = 0;  ///< when that process started, as ProcessStat has it
    std::string engine;         ///< "mpirun" or "srun"
    std::string scheduler;      ///< "slurm", "pbs" or ""
    std::string scheduler_job;  ///< its number there
    std::string program;
    std::string log_dir;             ///< absolute
    std::int64_t begin_us = 0;       ///< since 1970
    std::string socket;              ///< where the launcher answers questions; "": it does not
    int size = 0;                    ///< ranks; 0 while that is not known
    std::vector<std::string> hosts;  ///< its nodes as the plan calls them
    std::string pid_space;           ///< where `pid` counts, see own_pid_space(); "": not known

    friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

std::string to_json(const JobRecord& record);

/// The record in a text, or nothing when it holds none.
std::optional<JobRecord> parse_record(std::string_view json);

/// A name that no other running job has: "train@node1:4711"; a submitted job's is its number.
std::string full_name(const JobRecord& record);

/// Whether somebody who writes `word` may mean this job: its name, full name or number.
bool is_called(const JobRecord& record, std::string_view word);

/// Where the records of a user are.
/// @return nothing where there is neither DTRAIN_JOBS_DIR nor a home
std::optional<std::filesystem::path> records_folder(const Environment& environment);

/// The file of a record in that folder.
std::filesystem::path record_file(const std::filesystem::path& folder, const JobRecord& record);

/// Writes a record, readable for its user only; makes the folder.
/// @throws std::exception when that cannot be done
void write_record(const std::filesystem::path& folder, const JobRecord& record);

/// All records, the oldest job first. Files that are none are passed over.
std::vector<JobRecord> read_records(const std::filesystem::path& folder);

/// The boot of this machine and the container that this process' number is of; "" where that cannot be told.
std::string own_pid_space();

/// Takes away the records, and what goes with them, of launchers of this machine that were killed. Whether
/// those of another boot or container run cannot be told: they stay.
void remove_lost(const std::filesystem::path& folder, const std::string& host);

/// Whether the launcher of a record of this machine still runs.
bool is_running(const JobRecord& record);

/// Takes away what the launcher of a record left when it was killed.
void remove_traces(const std::filesystem::path& folder, const JobRecord& record);

}  // namespace dtrain::launch
