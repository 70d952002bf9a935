// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: messages that the test counts; texts written by hand after Prometheus' description of its text
// format.
#include <algorithm>
#include <filesystem>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "ps/metrics/metrics_output.hpp"
#include "ps/metrics/server_metrics.hpp"
#include "ps/small_server.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A server of one trainer that was given some messages.
class Busy {
  public:
    explicit Busy(ServerMode mode = ServerMode::sync)
        : server_({.mode = mode, .trainers = {1}, .table_threads = 3}, two_zeros(1), one_table(),
                  *transports_[0]) {
        MessageWriter join(*transports_[1], {.kind = MessageKind::join});
        join.add_text("");
        give(std::move(join));
    }

    void push(std::int64_t id) {
        MessageWriter writer(*transports_[1], {.kind = MessageKind::push, .steps = 1});
        writer.add_rows(0, 1, 1).ids[0] = id;
        give(std::move(writer));
    }

    void pull(std::int64_t step, std::uint64_t keys) {
        MessageWriter writer(*transports_[1], {.kind = MessageKind::pull, .step = step});
        std::ranges::fill(writer.ask_rows(0, keys, false), 5);
        give(std::move(writer));
    }

    Server& server() { return server_; }

  private:
    void give(MessageWriter&& writer) {
        writer.send(0);
        while (auto message = transports_[0]->receive()) take_and_answer(server_, std::move(*message));
        while (transports_[1]->receive()) continue;
    }

    std::vector<std::unique_ptr<comm::Transport>> transports_ = comm::local_transports(2);
    Server server_;
};

TEST(ServerMetrics, TellWhatCameSinceTheLastTime) {
    Busy busy;
    for (int id = 0; id < 3; ++id) busy.push(id);
    busy.pull(3, 7);
    const auto first = metrics_of(busy.server(), 4, {}, 2);
    auto metrics = json::parse(json_line(first, 1e9));
    EXPECT_EQ(metrics["server"], 4);
    EXPECT_EQ(metrics["time"], 1e9);
    EXPECT_EQ(metrics["steps"], 3);
    EXPECT_EQ(metrics["table_threads"], 3);
    EXPECT_EQ(metrics["dense_bytes"], 16);  // the bias and the weight of its program
    EXPECT_EQ(metrics["pulls"], 1);
    EXPECT_EQ(metrics["pushes"], 3);
    EXPECT_EQ(metrics["keys_pulled_per_second"], 3.5);
    EXPECT_EQ(metrics["keys_pushed_per_second"], 1.5);
    EXPECT_EQ(metrics["pull_seconds"]["count"], 1);
    EXPECT_EQ(metrics["push_seconds"]["count"], 3);
    EXPECT_GT(metrics["push_seconds"]["p50"], 0);
    EXPECT_GE(metrics["push_seconds"]["p99"], metrics["push_seconds"]["p50"]);
    EXPECT_EQ(metrics["tables"][0]["name"], "t");
    EXPECT_EQ(metrics["tables"][0]["rows"], 4);
    EXPECT_EQ(metrics["tables"][0]["inserted"], 4);
    EXPECT_GT(metrics["tables"][0]["bytes"], 0);

    const auto before = busy.server().counts();
    busy.pull(4, 2);  // of a step that is not there
    busy.push(5);
    metrics = json::parse(json_line(metrics_of(busy.server(), 4, before, 1), 1e9));
    EXPECT_EQ(metrics["keys_pulled"], 9);
    EXPECT_EQ(metrics["keys_pulled_per_second"], 2);
    EXPECT_EQ(metrics["pull_seconds"]["count"], 1);
    EXPECT_EQ(metrics["waiting_pulls"], 0);
    EXPECT_EQ(metrics["most_waiting_pulls"], 1);
    EXPECT_EQ(busy.server().counts().answers.count(), 2U);
}

TEST(ServerMetrics, HaveHistogramsSinceTheServerBegan) {
    using std::chrono::nanoseconds;
    ServerMetrics metrics;
    for (const int time : {8191, 8192, 16383, 16384, 2'000'000'000})
        metrics.counts.updates.add(nanoseconds(time));
    metrics.load.updates.add(nanoseconds(1));  // is in the counts already
    const auto families = families_of(metrics);
    const auto found = std::ranges::find(families, "dtrain_server_push_seconds", &scrape::Family::name);
    ASSERT_NE(found, families.end());
    EXPECT_EQ(found->type, scrape::Family::Type::histogram);
    const auto& times = std::get<scrape::Histogram>(found->samples.at(0).value);
    EXPECT_EQ(times.count, 5U);
    EXPECT_DOUBLE_EQ(times.sum, 2.00004915);
    EXPECT_EQ(times.buckets.front(), (scrape::Histogram::Bucket{8.192e-6, 1}));
    EXPECT_EQ(times.buckets.at(1), (scrape::Histogram::Bucket{16.384e-6, 3}));
    EXPECT_EQ(times.buckets.at(2), (scrape::Histogram::Bucket{32.768e-6, 4}));
    EXPECT_EQ(times.buckets.back().count, 5U);
    EXPECT_GT(times.buckets.back().bound, 10);
    EXPECT_TRUE(std::ranges::is_sorted(times.buckets, {}, &scrape::Histogram::Bucket::bound));
    EXPECT_TRUE(std::ranges::is_sorted(times.buckets, {}, &scrape::Histogram::Bucket::count));
}

bool has_prometheus() {
    try {
        scrape::prometheus_module();
        return true;
    } catch (const scrape::PrometheusUnavailable&) {
        return false;
    }
}

TEST(MetricsOutput, AddALineAndReplaceTheRest) {
    const tests::TemporaryFolder folder;
    Busy busy;
    MetricsOutput files({folder.path() / "a" / "b", std::chrono::hours(1)}, 3);
    EXPECT_EQ(files.lines(), folder.path() / "a" / "b" / "server-3.jsonl");
    files.write_in_time(busy.server());
    EXPECT_FALSE(std::filesystem::exists(files.lines()));
    busy.push(1);
    files.write(busy.server());
    busy.push(1);
    files.write(busy.server());
    const auto lines = read_file(files.lines()).value();
    EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
    EXPECT_EQ(json::parse(lines.substr(0, lines.find('\n')))["steps"], 1);
    EXPECT_EQ(json::parse(lines.substr(lines.find('\n')))["steps"], 2);
    if (!has_prometheus()) GTEST_SKIP() << "built without prometheus-cpp";
    const auto text = read_file(files.prometheus()).value();
    EXPECT_THAT(
        text,
        HasSubstr("# TYPE dtrain_server_steps_total counter\ndtrain_server_steps_total{server=\"3\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("dtrain_server_table_threads{server=\"3\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("dtrain_server_table_rows{server=\"3\",table=\"t\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("dtrain_server_push_seconds_count{server=\"3\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("dtrain_server_push_seconds_bucket{server=\"3\",le=\"+Inf\"} 2\n"));
}

TEST(MetricsOutput, SayWhereTheyCannotWrite) {
    const tests::TemporaryFolder folder;
    replace_file(folder.path() / "file", "");
    EXPECT_THAT(
        tests::message_of([&] { MetricsOutput({folder.path() / "file" / "x"}, 0); }),
        HasSubstr("cannot write metrics of servers into " + (folder.path() / "file/x").string() + ": "));
}

TEST(MetricsOutput, AFolderThatGoesAwayEndsNothing) {
    const tests::TemporaryFolder folder;
    Busy busy;
    MetricsOutput files({folder.path() / "gone"}, 0);
    std::filesystem::remove(folder.path() / "gone");
    testing::internal::CaptureStderr();
    files.write(busy.server());
    files.write(busy.server());
    const auto errors = testing::internal::GetCapturedStderr();
    EXPECT_THAT(errors, HasSubstr("dtrain: parameter server 0 cannot write its metrics: "));
    EXPECT_EQ(std::ranges::count(errors, '\n'), 1);
}

TEST(MetricsOutput, IsServedBehindThePortOfTheFirstServer) {
    if (!has_prometheus()) GTEST_SKIP() << "built without prometheus-cpp";
    const auto free_port = [] { return MetricsOutput({.folder = {}, .port = "0"}, 3).address(); };
    const auto address = free_port();
    EXPECT_THAT(address, testing::StartsWith("127.0.0.1:"));
    const int port = std::stoi(address.substr(address.find(':') + 1));
    EXPECT_GT(port, 3);
    const MetricsOutput third({.folder = {}, .port = std::to_string(port - 3)}, 3);
    EXPECT_EQ(third.address(), address);
    EXPECT_THAT(
        tests::message_of([&] { MetricsOutput({.folder = {}, .port = std::to_string(port - 1)}, 1); }),
        HasSubstr("metrics_port " + address + ": Address already in use"));
    EXPECT_THAT(tests::message_of([] { MetricsOutput({.folder = {}, .port = "x"}, 0); }),
                HasSubstr("metrics_port x: it must be a port in 0..65535"));
    EXPECT_THAT(tests::message_of([] { MetricsOutput({.folder = {}, .port = "65535"}, 1); }),
                HasSubstr("metrics_port 127.0.0.1:65536: it must be a port in 0..65535"));
}

}  // namespace
}  // namespace dtrain::ps
