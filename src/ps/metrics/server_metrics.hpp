// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ps/server/server.hpp"
#include "scrape/family.hpp"

namespace dtrain::ps {

/// The metrics of one server.
struct ServerMetrics {
    struct Table {
        std::string name;
        std::size_t rows = 0;
        std::size_t bytes = 0;
        TableCounts counts;
    };

    int server = 0;
    std::int64_t steps = 0;
    std::size_t dense_bytes = 0;  ///< of parameters and their optimizer state
    int table_threads = 1;
    std::size_t waiting_pulls = 0;
    std::vector<Table> tables;
    Server::Counts counts;  ///< since the server started

    /// Since the previous metrics:
    double seconds = 0;
    std::uint64_t keys_pulled = 0;
    std::uint64_t keys_pushed = 0;
    ServerLoad load;
};

/// Takes the server's load. @param before its counts `seconds` ago, at the previous call
ServerMetrics metrics_of(Server& server, int number, const Server::Counts& before, double seconds);

/// A line of JSON with newline. @param time seconds since 1970
std::string json_line(const ServerMetrics& metrics, double time);

/// The metrics for Prometheus.
std::vector<scrape::Family> families_of(const ServerMetrics& metrics);

}  // namespace dtrain::ps
