// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/metrics/metrics_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "ps/metrics/server_metrics.hpp"

namespace dtrain::ps {
namespace {

// Others read it: node_exporter runs as a user of its own.
constexpr mode_t readable = 0644;

void append(const std::filesystem::path& path, const std::string& text) {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, readable));
    if (!file.valid() || !write_all(file.get(), text))
        throw std::system_error(errno, std::generic_category(), path.string());
}

}  // namespace

MetricsFiles::MetricsFiles(const ServerMetricsOptions& options, int server)
    : options_(options), server_(server) {
    if (const auto failed = make_writable_folder(options_.folder))
        throw UsageError(fmt::format("cannot write metrics of servers into {}: {}", options_.folder.string(),
                                     failed.message()));
    try {
        prometheus_ = &scrape::prometheus_module();
    } catch (const scrape::PrometheusUnavailable& without) {
        write_all(STDERR_FILENO, fmt::format("dtrain: parameter server {} writes no {}: {}\n", server_,
                                             prometheus().string(), without.what()));
    }
}

std::filesystem::path MetricsFiles::path(const char* extension) const {
    return options_.folder / fmt::format("server-{}.{}", server_, extension);
}

void MetricsFiles::write_in_time(Server& server) {
    if (Clock::now() - last_ >= options_.every) write(server);
}

void MetricsFiles::write(Server& server) {
    const auto now = Clock::now();
    const std::chrono::duration<double> since_last = now - std::exchange(last_, now);
    const auto metrics =
        metrics_of(server, server_, std::exchange(counts_, server.counts()), since_last.count());
    const std::chrono::duration<double> time = std::chrono::system_clock::now().time_since_epoch();
    try {
        append(lines(), json_line(metrics, time.count()));
        if (prometheus_ != nullptr)
            replace_passing_file(prometheus(), prometheus_->text(families_of(metrics)), readable);
    } catch (const std::exception& failed) {
        if (std::exchange(has_complained_, true)) return;
        write_all(STDERR_FILENO, fmt::format("dtrain: parameter server {} cannot write its metrics: {}\n",
                                             server_, failed.what()));
    }
}

}  // namespace dtrain::ps
