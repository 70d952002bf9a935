// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include <dtrain/parameter_servers.hpp>

#include "ps/server/server.hpp"
#include "scrape/prometheus_module.hpp"

namespace dtrain::ps {

/// A server's metrics, now and then in files: server-N.jsonl gets a line more, server-N.prom is replaced.
class MetricsFiles {
  public:
    /// Makes the folder. Without prometheus-cpp there will be no server-N.prom, which is said on stderr.
    /// @throws UsageError when nobody can write there
    MetricsFiles(const ServerMetricsOptions& options, int server);

    /// Writes when it is time to. A file that cannot be written is complained of once, and the server goes
    /// on.
    void write_in_time(Server& server);

    void write(Server& server);

    std::filesystem::path lines() const { return path("jsonl"); }
    std::filesystem::path prometheus() const { return path("prom"); }

  private:
    using Clock = std::chrono::steady_clock;

    std::filesystem::path path(const char* extension) const;

    ServerMetricsOptions options_;
    int server_;
    const scrape::PrometheusModule* prometheus_ = nullptr;
    Clock::time_point last_ = Clock::now();
    Server::Counts counts_;
    bool has_complained_ = false;
};

}  // namespace dtrain::ps
