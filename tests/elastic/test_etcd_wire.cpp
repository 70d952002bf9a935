// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the JSON gateway of etcd 3.4 (https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/); replies are
// as etcd 3.4.23 sent them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "elastic/etcd_wire.hpp"

namespace dtrain::elastic {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(EtcdWire, WritesRequests) {
    EXPECT_EQ(Json::parse(put_request(Change::put("foo", "bar", 7))),
              Json::parse(R"({"key":"Zm9v","value":"YmFy","lease":"7"})"));
    EXPECT_EQ(Json::parse(put_request(Change::put("foo", "bar"))),
              Json::parse(R"({"key":"Zm9v","value":"YmFy"})"));
    EXPECT_EQ(Json::parse(prefix_request("foo")), Json::parse(R"({"key":"Zm9v","range_end":"Zm9w"})"));
    EXPECT_EQ(Json::parse(watch_request("foo", 9)),
              Json::parse(R"({"create_request":{"key":"Zm9v","range_end":"Zm9w","start_revision":"9"}})"));
    EXPECT_EQ(Json::parse(transaction_request({Condition::absent("foo"), Condition::has_value("foo", "bar"),
                                               Condition::held_by("foo", 7)},
                                              {Change::put("foo", "bar"), Change::erase("foo")})),
              Json::parse(R"({"compare":[
                  {"key":"Zm9v","result":"EQUAL","target":"CREATE","create_revision":"0"},
                  {"key":"Zm9v","result":"EQUAL","target":"VALUE","value":"YmFy"},
                  {"key":"Zm9v","result":"EQUAL","target":"LEASE","lease":"7"}],
                "success":[{"request_put":{"key":"Zm9v","value":"YmFy"}},
                  {"request_delete_range":{"key":"Zm9v"}}]})"));
}

TEST(EtcdWire, EndsPrefixes) {
    EXPECT_EQ(end_of_prefix("a/"), "a0");
    EXPECT_EQ(end_of_prefix("a\xff"), "b");
    EXPECT_EQ(end_of_prefix("\xff\xff"), std::string(1, '\0'));
}

TEST(EtcdWire, ReadsKeys) {
    const auto found = read_found(
        R"({"header":{"cluster_id":"10144879847569953045","revision":"6","raft_term":"2"},"kvs":[{"key":"Zm9v","create_revision":"2","mod_revision":"3","version":"1","value":"YmFy","lease":"1418811992957085192"}],"count":"1"})");
    EXPECT_EQ(found.revision, 6);
    EXPECT_THAT(
        found.keys,
        ElementsAre(KeyValue{
            .key = "foo", .value = "bar", .created = 2, .modified = 3, .lease = 1418811992957085192}));
    EXPECT_THAT(read_found(R"({"header":{"revision":"6"}})").keys, IsEmpty());
}

TEST(EtcdWire, ReadsLeases) {
    EXPECT_EQ(read_lease(R"({"header":{"revision":"2"},"ID":"1418811992957085192","TTL":"5"})"),
              (Lease{1418811992957085192, 5}));
    EXPECT_EQ(read_lease("{\"result\":{\"header\":{\"revision\":\"2\"},\"ID\":\"123\",\"TTL\":\"5\"}}\n"),
              (Lease{123, 5}));
    EXPECT_EQ(read_lease("{\"result\":{\"header\":{\"revision\":\"2\"},\"ID\":\"123\"}}\n").seconds, 0)
        << "it has run out";
}

TEST(EtcdWire, ReadsTransactionsAndWatches) {
    EXPECT_TRUE(read_succeeded(R"({"header":{"revision":"3"},"succeeded":true})"));
    EXPECT_FALSE(read_succeeded(R"({"header":{"revision":"3"}})"));
    EXPECT_EQ(read_deleted(R"({"header":{"revision":"3"},"deleted":"4"})"), 4);
    EXPECT_FALSE(is_change(R"({"result":{"header":{"revision":"3"},"created":true}})"));
    EXPECT_TRUE(is_change(R"({"result":{"header":{"revision":"3"},"events":[{"kv":{"key":"Zm9v"}}]}})"));
    EXPECT_TRUE(is_change(R"({"result":{"header":{},"canceled":true,"compact_revision":"9"}})"));
}

TEST(EtcdWire, ReadsRefusals) {
    const auto lease = read_refusal(
        R"({"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":5})");
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->code, 5);
    EXPECT_EQ(lease->text, "etcdserver: requested lease not found");
    const auto stream = read_refusal(R"({"error":{"grpc_code":14,"http_code":503,"message":"no leader"}})");
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->code, 14);
    EXPECT_EQ(stream->text, "no leader");
    const auto second =
        read_refusal(R"({"code":16, "message":"etcdserver: invalid auth token", "details":[]})");
    ASSERT_TRUE(second);
    EXPECT_EQ(second->code, 16);
    EXPECT_EQ(second->text, "etcdserver: invalid auth token");
    const auto second_stream = read_refusal(R"({"error":{"code":14,"message":"no leader"}})");
    ASSERT_TRUE(second_stream);
    EXPECT_EQ(second_stream->code, 14);
    EXPECT_EQ(second_stream->text, "no leader");
    EXPECT_FALSE(read_refusal(R"({"header":{}})"));
    EXPECT_FALSE(read_refusal("Not Found\n"));
}

TEST(EtcdWire, RefusesWhatEtcdDoesNotSend) {
    for (const char* text : {"", "{", "[]", "null", R"({"header":7})", R"({"header":{"revision":"x"}})",
                             R"({"header":{},"kvs":{}})", R"({"header":{},"kvs":[7]})",
                             R"({"header":{},"kvs":[{"key":"!"}]})", R"({"header":{},"kvs":[{"key":7}]})"})
        EXPECT_THROW(read_found(text), NotEtcd) << text;
    EXPECT_THROW(read_token("{}"), NotEtcd);
    EXPECT_THROW(read_lease(R"({"ID":{}})"), NotEtcd);
    EXPECT_THROW(is_change("Not Found"), NotEtcd);
}

}  // namespace
}  // namespace dtrain::elastic
