// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/metric_row.hpp"

namespace dtrain::report {

/// "model" and "64-32-10 relu".
struct Fact {
    std::string name;
    std::string value;
    friend bool operator==(const Fact&, const Fact&) = default;
};

/// Where a rank is.
struct RankPlace {
    int rank = 0;
    std::string role = "trainer";
    std::string host;
    int local_rank = 0;
    std::vector<std::string> gpus = {};  ///< ids as users know them
    std::string cpus = {};               ///< "0-3"; "" when nobody told
    std::string log = {};                ///< its file; "": it has none of its own
    friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// Where the time of a rank went, in seconds.
struct RankTimes {
    int rank = 0;
    double compute = 0;
    /// Exchanging data with other ranks. None: a GPU does it somewhere in its computing, and nobody knows.
    std::optional<double> communicate = 0;
    /// For other ranks to come to an exchange. None likewise, or it is a part of `communicate`.
    std::optional<double> wait = 0;
    double input = 0;  ///< until the next batch was there
    double rest = 0;   ///< between the steps: tests, checkpoints

    double all() const { return compute + communicate.value_or(0) + wait.value_or(0) + input + rest; }
    friend bool operator==(const RankTimes&, const RankTimes&) = default;
};

/// An epoch in which others waited for a rank.
struct SlowEpoch {
    std::int64_t epoch = 0;  ///< from 1 on
    int rank = 0;            ///< that waited least
    double waited = 0;       ///< seconds more, by the one that waited most
    friend bool operator==(const SlowEpoch&, const SlowEpoch&) = default;
};

/// How the GPUs of a rank were used while it ran; nothing for what they do not tell.
struct RankGpus {
    int rank = 0;
    std::optional<double> utilization;  ///< percent, the mean
    std::optional<double> watts;        ///< of all together, the mean
    std::optional<double> memory;       ///< bytes, the most that one had in use
    std::optional<double> celsius;      ///< the hottest
    friend bool operator==(const RankGpus&, const RankGpus&) = default;
};

/// A rank's life from one start to its end.
struct RankSpan {
    int rank = 0;
    int start = 1;     ///< which start of the job this was
    double begin = 0;  ///< seconds since the run began
    double end = 0;
    std::string state;  ///< "done", "failed", "stopped", "lost" or "running"
    std::string text;   ///< in words
    friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

/// Something that happened.
struct RunEvent {
    double seconds = 0;
    std::string text;
    bool is_bad = false;
    friend bool operator==(const RunEvent&, const RunEvent&) = default;
};

/// Why a run failed.
struct Failure {
    std::string headline;         ///< "rank 1 on node7: killed by SIGKILL"
    std::vector<Fact> info = {};  ///< which rank, on which node, why
    std::string text;             ///< all that was said about it
    friend bool operator==(const Failure&, const Failure&) = default;
};

/// What a page tells.
struct Run {
    std::string title;
    std::string outcome = "running";  ///< or "done", "failed", "stopped"
    double began = 0;                 ///< seconds since 1970
    double seconds = 0;               ///< until its end, or until this was written
    std::vector<Fact> info = {};
    std::vector<MetricRow> rows = {};
    std::vector<RankPlace> places = {};
    std::vector<RankTimes> times = {};
    std::vector<SlowEpoch> slow_epochs = {};
    std::vector<RankGpus> gpus = {};
    std::vector<RankSpan> spans = {};
    std::vector<RunEvent> events = {};
    std::optional<Failure> failure = {};
    friend bool operator==(const Run&, const Run&) = default;
};

/// Where this process is. @param rank its own
RankPlace own_place(int rank);

/// A place as a text, and all of them back, for ranks that tell each other.
std::string place_text(const RankPlace& place);
/// @param texts of all ranks, by rank
std::vector<RankPlace> places_of_texts(const std::vector<std::string>& texts);

/// The use of a rank's GPUs as a short text, and back; nothing when it is none.
std::string gpus_text(const RankGpus& gpus);
std::optional<RankGpus> gpus_of_text(int rank, std::string_view text);

/// One JSON object, and back. Texts that are no UTF-8 are repaired.
std::string run_json(const Run& run);
/// @returns nothing when the text is not what run_json() makes
std::optional<Run> parse_run(std::string_view json);

/// While there are more than `most` rows within epochs, or of whole ones, every second one of them goes; the
/// last one stays.
void thin_out(std::vector<MetricRow>& rows, std::size_t max);

}  // namespace dtrain::report
