// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's layout below /paddle/<job>; by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "elastic/job_keys.hpp"
#include "support/message_of.hpp"

namespace dtrain::elastic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const JobKeys keys("job1");
const Node node_a{.name = "10.0.0.1",
                  .address = "10.0.0.1",
                  .host = "a",
                  .processes = 2,
                  .gpus = {"0", "1"},
                  .version = "0.1.0",
                  .launcher = "c0ffee",
                  .start = 3};
const Node node_b{.name = "10.0.0.2#2", .address = "10.0.0.2", .host = "b"};

KeyValue key_of(const Node& node, std::int64_t created) {
    return {.key = keys.node(node.name), .value = to_json(node), .created = created};
}

TEST(JobKeys, LieWherePaddleHasThem) {
    EXPECT_EQ(keys.state(), "/paddle/job1");
    EXPECT_EQ(keys.wanted(), "/paddle/job1/np");
    EXPECT_EQ(keys.node("10.0.0.1"), "/paddle/job1/nodes/10.0.0.1");
    EXPECT_EQ(keys.endpoints(), "/paddle/job1/endpoints");
    for (const char* job : {"", "a/b", "/"})
        EXPECT_THAT(tests::message_of([&] { JobKeys{job}; }), HasSubstr("--job_id")) << job;
}

TEST(JobKeys, ValuesComeBack) {
    EXPECT_EQ(node_of(to_json(node_a)), node_a);
    const Start start{.number = 4, .run = "c0ffee", .coordinator = node_a.name, .nodes = {node_a, node_b}};
    EXPECT_EQ(start_of(to_json(start)), start);
    EXPECT_EQ(start_of(R"({"number":4,"head":"a","nodes":[]})"), (Start{.number = 4, .coordinator = "a"}))
        << "of an earlier version";
    EXPECT_EQ(
        node_of(
            R"({"name":"n1","address":"n1","host":"a","processes":2,"gpus":[],"dtrain":"0.1.0","start":3})"),
        (Node{.name = "n1", .address = "n1", .host = "a", .processes = 2, .version = "0.1.0", .start = 3}))
        << "of an earlier version";
    for (const char* text : {"", "0", "10.0.0.1:6070", "{}", R"({"name":7})", R"({"number":"x"})"}) {
        EXPECT_EQ(node_of(text), std::nullopt) << text;
        EXPECT_EQ(start_of(text), std::nullopt) << text;
    }
    EXPECT_TRUE(node_of(to_json(Node{.name = "n1", .address = "n1", .host = "caf\xe9"})))
        << "a host name that is no UTF-8";
}

TEST(JobKeys, NoNodeIsAnOption) {
    for (const char* address :
         {"-Fevil.conf", "-oProxyCommand=sh", "", "10.0.0.3,-Fevil.conf", "a b", "a\nb"}) {
        auto node = node_b;
        node.address = address;
        node.name = address;
        EXPECT_EQ(node_of(to_json(node)), std::nullopt) << address;
        EXPECT_EQ(start_of(to_json(Start{.number = 4, .coordinator = node_a.name, .nodes = {node_a, node}})),
                  std::nullopt)
            << address;
        EXPECT_TRUE(job_view(keys, {.keys = {key_of(node, 7)}}).nodes.empty()) << address;
    }
    for (const char* name : {"10.0.0.3", "10.0.0.2#", "10.0.0.2#x", "10.0.0.2\n", "#2"}) {
        auto node = node_b;
        node.name = name;
        EXPECT_EQ(node_of(to_json(node)), std::nullopt) << name;
    }
}

TEST(JobView, IsReadFromAllKeys) {
    const Start start{.number = 4, .coordinator = node_a.name, .nodes = {node_a}};
    const auto view = job_view(keys, {.revision = 99,
                                      .keys = {{.key = keys.state(), .value = "running"},
                                               {.key = keys.wanted(), .value = "2:4"},
                                               {.key = keys.coordinator(), .value = node_a.name, .lease = 7},
                                               {.key = keys.start(), .value = to_json(start)},
                                               {.key = keys.outcome(), .value = "3"},
                                               key_of(node_a, 20),
                                               key_of(node_b, 10),
                                               {.key = keys.node("odd"), .value = "127.0.0.1:6070"},
                                               {.key = keys.node("liar"), .value = to_json(node_a)},
                                               {.key = "/paddle/job10", .value = "completed"},
                                               {.key = "/paddle/job10/np", .value = "9"}}});
    EXPECT_EQ(view.revision, 99);
    EXPECT_EQ(view.state, "running");
    EXPECT_EQ(view.wanted, (NodeCount{2, 4}));
    EXPECT_EQ(view.coordinator, node_a.name);
    EXPECT_EQ(view.coordinator_lease, 7);
    EXPECT_EQ(view.start, start);
    EXPECT_EQ(view.outcome, 3);
    EXPECT_THAT(view.names(), ElementsAre(node_b.name, node_a.name)) << "by arrival";
    ASSERT_NE(view.node(node_a.name), nullptr);
    EXPECT_EQ(*view.node(node_a.name), node_a);
    EXPECT_EQ(view.node("odd"), nullptr);
}

TEST(JobView, KnowsALauncherByItsMark) {
    const auto view = job_view(keys, {.keys = {key_of(node_a, 20), key_of(node_b, 10)}});
    EXPECT_TRUE(view.has(node_a));
    EXPECT_FALSE(view.has({.name = "10.0.0.3", .launcher = node_a.launcher}));
    auto other = node_a;
    other.start = 0;
    EXPECT_TRUE(view.has(other)) << "the same one, free by now";
    other.launcher = "decaf";
    EXPECT_FALSE(view.has(other)) << "started again at the same address";
    other.launcher = "";
    EXPECT_TRUE(view.has(other)) << "of an earlier version: its name has to do";
    other = node_b;
    other.launcher = "decaf";
    EXPECT_TRUE(view.has(other)) << "written by an earlier version";
}

TEST(JobView, OfNoJobIsEmpty) {
    const auto view = job_view(keys, {.revision = 5});
    EXPECT_EQ(view, JobView{.revision = 5});
}

}  // namespace
}  // namespace dtrain::elastic
