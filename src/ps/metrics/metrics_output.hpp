// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <dtrain/parameter_servers.hpp>

#include "ps/server/server.hpp"
#include "scrape/endpoint.hpp"
#include "scrape/prometheus_module.hpp"

namespace dtrain::ps {

/// Publishes a server's metrics periodically: appends a line to server-N.jsonl, replaces server-N.prom, and
/// serves the latest values to Prometheus.
class MetricsOutput {
  public:
    /// Creates the folder and listens at the port. Without prometheus-cpp there is no server-N.prom, which is
    /// reported on stderr.
    /// @throws UsageError if nobody can write there, the port is invalid or taken, or a port is given without
    /// prometheus-cpp
    MetricsOutput(const ServerMetricsOptions& options, int server);

    /// Writes if an interval has passed. Reports a file that cannot be written once, and goes on.
    void write_in_time(Server& server);

    void write(Server& server);

    std::filesystem::path lines() const { return path("jsonl"); }
    std::filesystem::path prometheus() const { return path("prom"); }
    /// Address at which metrics are served, "127.0.0.1:9401"; "" if they are not.
    const std::string& address() const { return address_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Served;

    void serve();
    void write_files(const std::string& line, const std::string& text);
    std::filesystem::path path(const char* extension) const;

    ServerMetricsOptions options_;
    int server_;
    const scrape::PrometheusModule* prometheus_ = nullptr;
    std::string address_;
    std::shared_ptr<Served> served_;
    std::optional<scrape::Endpoint> endpoint_;
    Clock::time_point last_ = Clock::now();
    Server::Counts counts_;
    bool is_first_ = true;
    bool has_complained_ = false;
};

}  // namespace dtrain::ps
