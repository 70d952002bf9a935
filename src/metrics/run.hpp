// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_row.hpp"

namespace dtrain::metrics {

/// A name and a value: "model" and "64-32-10 relu".
struct Fact {
    std::string name;
    std::string value;
    friend bool operator==(const Fact&, const Fact&) = default;
};

/// Where a rank runs.
struct RankLocation {
    int rank = 0;
    std::string role = "trainer";
    std::string host;
    int local_rank = 0;
    std::vector<std::string> gpus = {};  ///< ids as shown to users
    std::string cpus = {};               ///< "0-3"; "" if unknown
    std::string log = {};                ///< its file; "": it has no log of its own
    friend bool operator==(const RankLocation&, const RankLocation&) = default;
};

/// How a rank spent its time, in seconds.
struct RankTimes {
    int rank = 0;
    double compute = 0;
    /// Exchanging data with other ranks. None: a GPU does it within its computation, so the time is unknown.
    std::optional<double> communicate = 0;
    /// Waiting for other ranks to join an exchange. None likewise, or if it is included in `communicate`.
    std::optional<double> wait = 0;
    double input = 0;  ///< waiting for the next batch
    double rest = 0;   ///< between steps: tests, checkpoints

    double all() const { return compute + communicate.value_or(0) + wait.value_or(0) + input + rest; }
    friend bool operator==(const RankTimes&, const RankTimes&) = default;
};

/// An epoch in which other ranks waited for one rank.
struct SlowEpoch {
    std::int64_t epoch = 0;  ///< from 1 on
    int rank = 0;            ///< the rank that waited least
    double waited = 0;       ///< seconds that the rank that waited most waited longer
    friend bool operator==(const SlowEpoch&, const SlowEpoch&) = default;
};

/// How the GPUs of a rank were used while it ran; nothing for values that they do not report.
struct RankGpus {
    int rank = 0;
    std::optional<double> utilization;  ///< percent, mean
    std::optional<double> watts;        ///< sum over the GPUs, mean over time
    std::optional<double> memory;       ///< bytes, maximum of any GPU
    std::optional<double> celsius;      ///< of the hottest GPU
    friend bool operator==(const RankGpus&, const RankGpus&) = default;
};

/// A rank's lifetime in one start.
struct RankSpan {
    int rank = 0;
    int start = 1;     ///< number of the job's start
    double begin = 0;  ///< seconds since the run began
    double end = 0;
    std::string state;  ///< "done", "failed", "stopped", "lost" or "running"
    std::string text;   ///< explanation for people
    friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

/// An event of a run.
struct RunEvent {
    double seconds = 0;
    std::string text;
    bool is_bad = false;
    friend bool operator==(const RunEvent&, const RunEvent&) = default;
};

/// Why a run failed.
struct Failure {
    std::string headline;         ///< short description: "rank 1 on node7: killed by SIGKILL"
    std::vector<Fact> info = {};  ///< which rank, on which node, why
    std::string text;             ///< the complete report
    friend bool operator==(const Failure&, const Failure&) = default;
};

/// The content of a page.
struct Run {
    std::string title;
    std::string outcome = "running";  ///< or "done", "failed", "stopped"
    double began = 0;                 ///< seconds since 1970
    double seconds = 0;               ///< until its end, or until this was written
    std::vector<Fact> info = {};
    std::vector<MetricRow> rows = {};
    std::vector<RankLocation> locations = {};
    std::vector<RankTimes> times = {};
    std::vector<SlowEpoch> slow_epochs = {};
    std::vector<RankGpus> gpus = {};
    std::vector<RankSpan> spans = {};
    std::vector<RunEvent> events = {};
    std::optional<Failure> failure = {};
    friend bool operator==(const Run&, const Run&) = default;
};

/// Where this process runs.
/// @param rank rank of this process
RankLocation own_location(int rank);

/// Converts a location to a text, with which ranks exchange their locations, and all texts back.
std::string location_text(const RankLocation& location);
/// @param texts of all ranks, by rank
std::vector<RankLocation> locations_of_texts(const std::vector<std::string>& texts);

/// Converts the usage of a rank's GPUs to a short text, and back; nothing for an invalid text.
std::string gpus_text(const RankGpus& gpus);
std::optional<RankGpus> gpus_of_text(int rank, std::string_view text);

/// Converts a run to one JSON object, and back. Invalid UTF-8 in texts is replaced.
std::string run_json(const Run& run);
/// @returns nothing if the text is not valid output of run_json()
std::optional<Run> parse_run(std::string_view json);

/// How many rows of a kind a page keeps.
inline constexpr std::size_t max_rows_of_a_kind = 4000;

/// Removes every second row of a kind ("step" or "epoch") while there are more than `max` of that kind; keeps
/// the last row.
void thin_out(std::vector<MetricRow>& rows, std::size_t max);

}  // namespace dtrain::metrics
