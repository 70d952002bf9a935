// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// Why a rank fails, as its own program tells it. The program leaves it in the rank's error file (see
/// error_file.hpp), dtrain-worker sends it with the event of the rank's end, and dtrain-launch reports it.
struct RankError {
    /// Whose form the file has: dtrain's, or that of torch's @record.
    enum class Source { dtrain, torch };

    /// A rank that an operation waited for.
    struct Peer {
        int rank = 0;  ///< in the job
        std::string why = {};
        friend bool operator==(const Peer&, const Peer&) = default;
    };

    /// An operation that was given up after its deadline.
    struct Operation {
        std::string name;           ///< "allreduce"
        std::uint64_t number = 0;   ///< its sequence number within its communicator, from 1
        double seconds = 0;         ///< how long it waited
        std::vector<Peer> missing;  ///< the first ranks that it waited for
        friend bool operator==(const Operation&, const Operation&) = default;
    };

    Source source = Source::dtrain;
    std::string kind;           ///< type of the exception, "dtrain::CommunicatorTimeout"; "": unknown
    std::string message;        ///< what it says: one line, or Python's lines
    bool for_all = false;       ///< all ranks throw it, and this one reports it for all
    std::optional<int> server;  ///< number of the parameter server that failed, if that is this rank
    std::optional<Operation> operation;  ///< the operation that waited in vain
    int rank = -1;                       ///< in the job; -1: unknown
    std::string host;
    int pid = 0;
    std::int64_t time_us = 0;  ///< microseconds since 1970

    friend bool operator==(const RankError&, const RankError&) = default;
};

/// How many missing ranks an error names.
inline constexpr std::size_t max_named_peers = 8;

/// The error that an exception stands for: its type and its message.
RankError error_of(const std::exception& thrown);

/// The error as one line of JSON in ASCII.
/// @param max the message is shortened until the line has at most that many bytes; "" if it cannot be
std::string to_json(const RankError& error, std::size_t max);

/// What to_json() wrote; nothing if the text is something else.
std::optional<RankError> parse_rank_error(std::string_view text);

/// The content of an error file: JSON that torch's agents can read too, {"message": {"message": MESSAGE,
/// "extraInfo": {"py_callstack": "", "timestamp": SECONDS}}}, with all of the error in the member "dtrain".
/// Source: torch/distributed/elastic/multiprocessing/errors/error_handler.py
std::string error_file_text(const RankError& error);

/// What an error file of dtrain's or of torch's @record tells; nothing if it is neither.
std::optional<RankError> parse_error_file(std::string_view text);

}  // namespace dtrain
