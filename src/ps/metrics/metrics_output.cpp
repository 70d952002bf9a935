// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/metrics/metrics_output.hpp"

#include <cerrno>
#include <mutex>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/log_opening.hpp"
#include "base/ports.hpp"
#include "ps/metrics/server_metrics.hpp"
#include "scrape/listen_address.hpp"

namespace dtrain::ps {
namespace {

// Readable by others: node_exporter runs as its own user.
constexpr mode_t readable = 0644;
constexpr std::string_view port_option = "metrics_port";

void append(const std::filesystem::path& path, const std::string& text) {
    const auto file = open_to_append(path, readable);
    if (!file.valid() || !write_all(file.get(), text))
        throw std::system_error(errno, std::generic_category(), path.string());
}

/// Server N listens N ports above the first server's; port 0 is any free one for each.
scrape::ListenAddress address_of_server(const std::string& text, int server) {
    auto address = scrape::parse_listen_address(port_option, text);
    if (address.port > 0) address.port += server;
    return scrape::parse_listen_address(port_option, scrape::to_string(address));
}

}  // namespace

struct MetricsOutput::Served {
    std::mutex mutex;
    std::string text;
};

MetricsOutput::MetricsOutput(const ServerMetricsOptions& options, int server)
    : options_(options), server_(server) {
    if (!options_.folder.empty())
        if (const auto failed = make_writable_folder(options_.folder))
            throw UsageError(fmt::format("cannot write metrics of servers into {}: {}",
                                         options_.folder.string(), failed.message()));
    if (!options_.port.empty()) {
        serve();
        return;
    }
    try {
        prometheus_ = &scrape::prometheus_module();
    } catch (const scrape::PrometheusUnavailable& without) {
        write_all(STDERR_FILENO, fmt::format("dtrain: parameter server {} writes no {}: {}\n", server_,
                                             prometheus().string(), without.what()));
    }
}

void MetricsOutput::serve() {
    auto address = address_of_server(options_.port, server_);
    prometheus_ = &scrape::prometheus_module();
    auto listener = scrape::listen_at(address, port_option);
    address.port = port_of(listener);
    address_ = scrape::to_string(address);
    served_ = std::make_shared<Served>();
    endpoint_.emplace(std::move(listener), [served = served_] {
        const std::scoped_lock lock(served->mutex);
        return served->text;
    });
    write_all(STDERR_FILENO, fmt::format("dtrain: metrics of parameter server {} at http://{}/metrics\n",
                                         server_, address_));
}

std::filesystem::path MetricsOutput::path(const char* extension) const {
    return options_.folder / fmt::format("server-{}.{}", server_, extension);
}

void MetricsOutput::write_in_time(Server& server) {
    const bool is_awaited = served_ && is_first_;
    if (is_awaited || Clock::now() - last_ >= options_.every) write(server);
}

void MetricsOutput::write(Server& server) {
    is_first_ = false;
    const auto now = Clock::now();
    const std::chrono::duration<double> since_last = now - std::exchange(last_, now);
    const auto metrics =
        metrics_of(server, server_, std::exchange(counts_, server.counts()), since_last.count());
    const std::chrono::duration<double> time = std::chrono::system_clock::now().time_since_epoch();
    auto text = prometheus_ != nullptr ? prometheus_->text(families_of(metrics)) : "";
    if (!options_.folder.empty()) write_files(json_line(metrics, time.count()), text);
    if (!served_) return;
    const std::scoped_lock lock(served_->mutex);
    served_->text = std::move(text);
}

void MetricsOutput::write_files(const std::string& line, const std::string& text) {
    try {
        append(lines(), line);
        if (prometheus_ != nullptr) replace_passing_file(prometheus(), text, readable);
    } catch (const std::exception& failed) {
        if (std::exchange(has_complained_, true)) return;
        write_all(STDERR_FILENO, fmt::format("dtrain: parameter server {} cannot write its metrics: {}\n",
                                             server_, failed.what()));
    }
}

}  // namespace dtrain::ps
