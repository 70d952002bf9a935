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

/// A server's metrics, now and then: in files, where server-N.jsonl gets a line more and server-N.prom is
/// replaced, and to Prometheus, which gets those that were made last.
class MetricsOutput {
  public:
    /// Makes the folder, and listens at the port. Without prometheus-cpp there will be no server-N.prom,
    /// which is said on stderr.
    /// @throws UsageError when nobody can write there, the port is none or is taken, or there is a port and
    /// no prometheus-cpp
    MetricsOutput(const ServerMetricsOptions& options, int server);

    /// Writes when it is time to. A file that cannot be written is complained of once, and the server goes
    /// on.
    void write_in_time(Server& server);

    void write(Server& server);

    std::filesystem::path lines() const { return path("jsonl"); }
    std::filesystem::path prometheus() const { return path("prom"); }
    /// Where metrics are served, "127.0.0.1:9401"; "" when they are not.
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
