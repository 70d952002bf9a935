// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/metrics/server_metrics.hpp"

#include <nlohmann/json.hpp>

namespace dtrain::ps {
namespace {

using nlohmann::ordered_json;
using scrape::Family;

// Bounds of histograms for Prometheus, as powers of two of nanoseconds: 8.2 us to 17 s.
constexpr int min_bound_bits = 13;
constexpr int greatest_bound_bits = 34;

double seconds_of(LogHistogram::Time time) {
    return std::chrono::duration<double>(time).count();
}

double per_second(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

ordered_json times_json(const LogHistogram& times) {
    return {{"count", times.count()},
            {"p50", seconds_of(times.quantile(0.5))},
            {"p99", seconds_of(times.quantile(0.99))}};
}

/// The same buckets on every server, so that Prometheus can add them up.
scrape::Histogram times_histogram(const LogHistogram& times) {
    scrape::Histogram out{.count = times.count(), .sum = seconds_of(times.total()), .buckets = {}};
    for (int bits = min_bound_bits; bits <= greatest_bound_bits; ++bits) {
        const LogHistogram::Time bound(std::int64_t{1} << bits);
        out.buckets.push_back({seconds_of(bound), times.shorter_than(bound)});
    }
    return out;
}

}  // namespace

ServerMetrics metrics_of(Server& server, int number, const Server::Counts& before, double seconds) {
    const auto load = server.take_load();  // before counts(): take_load() adds the load to them
    ServerMetrics metrics{.server = number,
                          .steps = server.steps(),
                          .dense_bytes = server.dense().state_bytes(),
                          .table_threads = server.table_threads(),
                          .waiting_pulls = server.waiting_pulls(),
                          .tables = {},
                          .counts = server.counts(),
                          .seconds = seconds,
                          .keys_pulled = server.counts().keys_pulled - before.keys_pulled,
                          .keys_pushed = server.counts().keys_pushed - before.keys_pushed,
                          .load = load};
    for (const auto& table : server.tables())
        metrics.tables.push_back({table.options().name, table.size(), table.bytes(), table.counts()});
    return metrics;
}

std::string json_line(const ServerMetrics& metrics, double time) {
    const auto& counts = metrics.counts;
    ordered_json json{{"time", time},
                      {"server", metrics.server},
                      {"seconds", metrics.seconds},
                      {"steps", metrics.steps},
                      {"dense_bytes", metrics.dense_bytes},
                      {"table_threads", metrics.table_threads},
                      {"pulls", counts.pulls},
                      {"pushes", counts.pushes},
                      {"refused", counts.refused},
                      {"dense_rejected", counts.dense_rejected},
                      {"keys_pulled", counts.keys_pulled},
                      {"keys_pushed", counts.keys_pushed},
                      {"keys_pulled_per_second", per_second(metrics.keys_pulled, metrics.seconds)},
                      {"keys_pushed_per_second", per_second(metrics.keys_pushed, metrics.seconds)},
                      {"waiting_pulls", metrics.waiting_pulls},
                      {"most_waiting_pulls", metrics.load.max_waiting},
                      {"pull_seconds", times_json(metrics.load.answers)},
                      {"push_seconds", times_json(metrics.load.updates)},
                      {"tables", ordered_json::array()}};
    for (const auto& table : metrics.tables)
        json["tables"].push_back({{"name", table.name},
                                  {"rows", table.rows},
                                  {"bytes", table.bytes},
                                  {"inserted", table.counts.inserted},
                                  {"evicted", table.counts.evicted},
                                  {"dropped", table.counts.dropped},
                                  {"rejected", table.counts.rejected}});
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::vector<Family> families_of(const ServerMetrics& metrics) {
    std::vector<Family> families;
    const scrape::Labels own{{"server", std::to_string(metrics.server)}};
    const auto begin = [&](const char* name, Family::Type type, const char* help) -> Family& {
        return families.emplace_back(Family{.name = name, .type = type, .help = help, .samples = {}});
    };
    const auto one = [&](const char* name, Family::Type type, const char* help, auto value) {
        begin(name, type, help).add(own, static_cast<double>(value));
    };
    const auto of_tables = [&](const char* name, Family::Type type, const char* help, const auto& value) {
        auto& family = begin(name, type, help);
        for (const auto& table : metrics.tables)
            family.add({own.front(), {"table", table.name}}, static_cast<double>(value(table)));
    };
    using Table = ServerMetrics::Table;
    constexpr auto counter = Family::Type::counter;
    constexpr auto gauge = Family::Type::gauge;
    const auto& counts = metrics.counts;
    one("dtrain_server_steps_total", counter, "Updates that are in the parameters.", metrics.steps);
    one("dtrain_server_dense_bytes", gauge, "Dense parameters and optimizer state.", metrics.dense_bytes);
    one("dtrain_server_table_threads", gauge, "Threads that share large batches of rows.",
        metrics.table_threads);
    if (!metrics.tables.empty()) {
        of_tables("dtrain_server_table_rows", gauge, "Rows of a table.",
                  [](const Table& table) { return table.rows; });
        of_tables("dtrain_server_table_bytes", gauge, "Memory of a table.",
                  [](const Table& table) { return table.bytes; });
        of_tables("dtrain_server_rows_inserted_total", counter, "Rows that were made, also before a restart.",
                  [](const Table& table) { return table.counts.inserted; });
        of_tables("dtrain_server_rows_evicted_total", counter,
                  "Rows that shrinking took away, also before a restart.",
                  [](const Table& table) { return table.counts.evicted; });
        of_tables("dtrain_server_gradients_dropped_total", counter,
                  "Gradients of ids that were not admitted, also before a restart.",
                  [](const Table& table) { return table.counts.dropped; });
        of_tables("dtrain_server_gradients_rejected_total", counter,
                  "Gradients of rows that were not finite, also before a restart.",
                  [](const Table& table) { return table.counts.rejected; });
    }
    one("dtrain_server_dense_gradients_rejected_total", counter,
        "Dense gradients of a trainer's step that were not finite.", counts.dense_rejected);
    one("dtrain_server_keys_pulled_total", counter, "Ids whose rows were asked for.", counts.keys_pulled);
    one("dtrain_server_keys_pushed_total", counter, "Ids whose gradients came.", counts.keys_pushed);
    one("dtrain_server_push_messages_total", counter, "Messages with gradients.", counts.pushes);
    one("dtrain_server_refused_messages_total", counter, "Messages that were refused.", counts.refused);
    one("dtrain_server_waiting_pulls", gauge, "Pulls that wait for other trainers.", metrics.waiting_pulls);
    constexpr auto histogram = Family::Type::histogram;
    begin("dtrain_server_pull_seconds", histogram, "Answering a pull, without its wait for other trainers.")
        .add(own, times_histogram(counts.answers));
    begin("dtrain_server_push_seconds", histogram, "Applying what one update takes.")
        .add(own, times_histogram(counts.updates));
    return families;
}

}  // namespace dtrain::ps
