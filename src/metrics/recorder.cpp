// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/recorder.hpp"

#include <cerrno>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/log_opening.hpp"
#include "metrics/event_record.hpp"
#include "metrics/page.hpp"

namespace dtrain::metrics {
namespace {

constexpr std::chrono::seconds between_pages{5};
constexpr mode_t for_all = 0644, for_the_user = 0600;

void append(const std::filesystem::path& path, const std::string& text) {
    const auto file = open_to_append(path, 0666);
    if (!file.valid() || !write_all(file.get(), text))
        throw std::system_error(errno, std::generic_category(), path.string());
}

std::string line_of(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string begin_line(const Run& run) {
    nlohmann::ordered_json json{
        {"time", run.began}, {"seconds", 0}, {"event", "begin"}, {"title", run.title}};
    for (const auto& [name, value] : run.info) json[name] = value;
    return line_of(json);
}

std::string end_line(const Run& run) {
    nlohmann::ordered_json json{{"time", run.began + run.seconds},
                                {"seconds", run.seconds},
                                {"event", "end"},
                                {"outcome", run.outcome}};
    if (run.failure) json["failure"] = run.failure->headline;
    return line_of(json);
}

}  // namespace

Recorder::Recorder(Outputs outputs, Run run, std::function<void(const std::string&)> complain)
    : outputs_(std::move(outputs)), run_(std::move(run)), complain_(std::move(complain)) {
    if (outputs_.tensorboard) {
        event_file_ = *outputs_.tensorboard / event_file_name(run_.began, host_name(), ::getpid());
        try_to([&] { append(event_file_, version_record(run_.began)); });
    }
    if (outputs_.metrics) try_to([&] { append(*outputs_.metrics, begin_line(run_)); });
    write_page();
}

void Recorder::try_to(const std::function<void()>& write) {
    try {
        write();
    } catch (const std::exception& failed) {
        if (!std::exchange(has_complained_, true))
            complain_(
                fmt::format("what was measured cannot be written: {}; training goes on", failed.what()));
    }
}

void Recorder::add_to_files(const MetricRow& row) {
    if (outputs_.metrics) try_to([&] { append(*outputs_.metrics, json_line(row)); });
    if (outputs_.tensorboard)
        try_to([&] { append(event_file_, scalars_record(row.time, row.step, row.values)); });
}

void Recorder::add(MetricRow row) {
    add_to_files(row);
    run_.seconds = row.seconds;
    run_.rows.push_back(std::move(row));
    if (run_.rows.size() > 2 * max_rows_of_a_kind) thin_out(run_.rows, max_rows_of_a_kind);
    if (!page_written_ || Clock::now() - *page_written_ >= between_pages) write_page();
}

void Recorder::add(RunEvent event) {
    run_.events.push_back(std::move(event));
}

void Recorder::add(const SlowEpoch& slow) {
    run_.slow_epochs.push_back(slow);
    if (run_.slow_epochs.size() > max_rows_of_a_kind) run_.slow_epochs.erase(run_.slow_epochs.begin());
}

void Recorder::set(std::vector<RankTimes> times) {
    run_.times = std::move(times);
}

void Recorder::set(std::vector<RankGpus> gpus) {
    run_.gpus = std::move(gpus);
}

void Recorder::finish(const std::string& outcome, double seconds, std::optional<Failure> failure) {
    run_.outcome = outcome;
    run_.seconds = seconds;
    run_.failure = std::move(failure);
    if (outputs_.metrics) try_to([&] { append(*outputs_.metrics, end_line(run_)); });
    write_page();
}

void Recorder::write_page() {
    page_written_ = Clock::now();
    if (outputs_.page) try_to([&] { replace_file_without_sync(*outputs_.page, page_html(run_), for_all); });
    if (outputs_.record)
        try_to([&] { replace_file_without_sync(*outputs_.record, run_json(run_), for_the_user); });
}

}  // namespace dtrain::metrics
