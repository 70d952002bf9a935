// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a real etcd, and what its documentation promises of leases, transactions, watches, users and TLS.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "elastic/etcd_client.hpp"
#include "etcd_server.hpp"
#include "support/message_of.hpp"

namespace dtrain::elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::EtcdServer;
using tests::message_of;

using EtcdClientTest = tests::EtcdTest;

std::vector<std::string> names_in(const Found& found) {
    std::vector<std::string> out;
    for (const auto& each : found.keys) out.push_back(each.key);
    return out;
}

std::string free_endpoint() {
    return "http://127.0.0.1:" + std::to_string(HeldPorts::any(1).numbers().front());
}

TEST_F(EtcdClientTest, KeepsBytes) {
    const EtcdServer server;
    EtcdClient client(server.access());
    std::string value;
    for (int byte = 0; byte < 256; ++byte) value += static_cast<char>(byte);
    client.put(Change::put("/a/" + value, value));
    client.put(Change::put("/a/", "first"));
    client.put(Change::put("/b", ""));
    const auto found = client.get_prefix("/a/");
    ASSERT_EQ(found.keys.size(), 2U);
    EXPECT_EQ(found.keys[0].value, "first");
    EXPECT_EQ(found.keys[1].key, "/a/" + value);
    EXPECT_EQ(found.keys[1].value, value);
    EXPECT_LT(found.keys[1].created, found.keys[0].created);
    EXPECT_EQ(client.get("/b").keys.at(0).value, "");
    EXPECT_THAT(client.get("/c").keys, IsEmpty());
    EXPECT_EQ(client.erase_prefix("/a/"), 2);
    EXPECT_EQ(client.erase("/b"), 1);
    EXPECT_EQ(client.erase("/b"), 0);
}

TEST_F(EtcdClientTest, LeasesTakeTheirKeysAway) {
    const EtcdServer server;
    EtcdClient client(server.access());
    const auto revoked = client.grant(60);
    const auto expiring = client.grant(2);
    EXPECT_GE(expiring.seconds, 2);
    client.put(Change::put("/l/revoked", "x", revoked.id));
    client.put(Change::put("/l/expiring", "x", expiring.id));
    EXPECT_GT(client.keep_alive(expiring.id).seconds, 0);
    client.revoke(revoked.id);
    client.revoke(revoked.id);
    EXPECT_EQ(client.keep_alive(revoked.id).seconds, 0);
    auto found = client.get_prefix("/l/");
    EXPECT_THAT(names_in(found), ElementsAre("/l/expiring"));
    while (!found.keys.empty()) {  // the test's own time limit ends it
        client.changed_since("/l/", found.revision, seconds(5));
        found = client.get_prefix("/l/");
    }
    EXPECT_EQ(client.keep_alive(expiring.id).seconds, 0);
    EXPECT_THAT(message_of<EtcdRefused>([&] { client.put(Change::put("/l/late", "x", expiring.id)); }),
                AllOf(HasSubstr(server.url()), HasSubstr("lease not found")));
}

TEST_F(EtcdClientTest, TransactsAllOrNothing) {
    const EtcdServer server;
    EtcdClient client(server.access());
    const auto lease = client.grant(60);
    EXPECT_TRUE(client.transact({Condition::absent("k")},
                                {Change::put("k", "1", lease.id), Change::put("other", "1")}));
    EXPECT_FALSE(client.transact({Condition::absent("k")}, {Change::put("k", "2")}));
    EXPECT_FALSE(client.transact({Condition::has_value("k", "2")}, {Change::erase("k")}));
    EXPECT_FALSE(client.transact({Condition::held_by("k", lease.id + 1)}, {Change::erase("k")}));
    EXPECT_FALSE(
        client.transact({Condition::has_value("k", "1"), Condition::absent("other")}, {Change::erase("k")}));
    EXPECT_EQ(client.get("k").keys.at(0).value, "1");
    EXPECT_EQ(client.get("k").keys.at(0).lease, lease.id);
    EXPECT_TRUE(client.transact({Condition::held_by("k", lease.id)}, {Change::erase("k")}));
    EXPECT_THAT(client.get("k").keys, IsEmpty());
}

TEST_F(EtcdClientTest, WaitsForChanges) {
    const EtcdServer server;
    EtcdClient client(server.access());
    const auto begin = client.get_prefix("/w/").revision;
    EXPECT_FALSE(client.changed_since("/w/", begin, milliseconds(300)));
    client.put(Change::put("/elsewhere", "1"));
    EXPECT_FALSE(client.changed_since("/w/", begin, milliseconds(300)));
    client.put(Change::put("/w/a", "1"));
    EXPECT_TRUE(client.changed_since("/w/", begin, seconds(60))) << "it has happened already";
    const auto now = client.get_prefix("/w/").revision;
    EtcdClient other(server.access());
    std::thread later([&] {
        std::this_thread::sleep_for(milliseconds(200));
        other.erase("/w/a");
    });
    EXPECT_TRUE(client.changed_since("/w/", now, seconds(60)));
    later.join();
}

TEST_F(EtcdClientTest, TellsThatAWatchCannotKnow) {
    const EtcdServer server;
    EtcdClient client(server.access());
    const auto begin = client.get("x").revision;
    for (int round = 0; round < 5; ++round) client.put(Change::put("x", std::to_string(round)));
    server.post("kv/compaction", R"({"revision":"5"})");
    EXPECT_TRUE(client.changed_since("/w/", begin, seconds(60)));
}

TEST_F(EtcdClientTest, GoesToTheEndpointThatAnswers) {
    const EtcdServer server;
    auto access = server.access();
    access.endpoints.insert(access.endpoints.begin(), {free_endpoint(), free_endpoint()});
    EtcdClient client(access);
    client.put(Change::put("k", "1"));
    EXPECT_EQ(client.get("k").keys.size(), 1U);
}

TEST_F(EtcdClientTest, ComesBackWithItsServer) {
    EtcdServer server;
    EtcdClient client(server.access());
    const auto lease = client.grant(60);
    client.put(Change::put("k", "1", lease.id));
    server.kill();
    EXPECT_THAT(message_of<EtcdUnavailable>([&] { client.get("k"); }), HasSubstr(server.url()));
    server.start();
    EXPECT_EQ(client.get("k").keys.at(0).value, "1");
    EXPECT_GT(client.keep_alive(lease.id).seconds, 0) << "leases outlive a restart";
}

TEST_F(EtcdClientTest, WaitsForASilentServerOnlySoLong) {
    EtcdServer server;
    EtcdClient client(server.access(), {.connect = milliseconds(300), .request = milliseconds(300)});
    client.put(Change::put("k", "1"));
    server.freeze();
    EXPECT_THROW(client.get("k"), EtcdUnavailable);
    EXPECT_THROW(client.changed_since("k", 1, milliseconds(300)), EtcdUnavailable)
        << "a watch that does not even begin";
    server.thaw();
    EXPECT_EQ(client.get("k").keys.size(), 1U);
}

TEST_F(EtcdClientTest, IsInterrupted) {
    const EtcdServer server;
    EtcdClient client(server.access());
    std::atomic<bool> away = false;
    std::thread waiting([&] {
        try {
            client.changed_since("k", 1, std::chrono::hours(1));
        } catch (const EtcdUnavailable&) {
            away = true;
        }
    });
    std::this_thread::sleep_for(milliseconds(200));
    client.interrupt();
    waiting.join();
    EXPECT_TRUE(away);
    EXPECT_THROW(client.get("k"), EtcdUnavailable);
}

TEST_F(EtcdClientTest, LogsInAndAgainWhenItsTokenIsGone) {
    EtcdServer server;
    server.demand_login("se\\\"cret");
    auto access = server.access();
    access.user = "root";
    access.password = "se\"cret";
    EtcdClient client(access);
    client.put(Change::put("k", "1"));
    server.kill();
    server.start();  // it has forgotten its tokens
    EXPECT_EQ(client.get("k").keys.at(0).value, "1");
    EXPECT_TRUE(client.changed_since("k", 1, seconds(60)));
    EXPECT_TRUE(client.transact({Condition::has_value("k", "1")}, {Change::put("k", "2")}));
}

TEST_F(EtcdClientTest, SaysWhoIsRefused) {
    const EtcdServer server;
    server.demand_login("right");
    EtcdClient nobody(server.access());
    EXPECT_THAT(message_of<EtcdRefused>([&] { nobody.get("k"); }),
                AllOf(HasSubstr(server.url()), HasSubstr("user name is empty")));
    auto access = server.access();
    access.user = "root";
    access.password = "wrong";
    EtcdClient wrong(access);
    EXPECT_THAT(message_of<EtcdRefused>([&] { wrong.get("k"); }),
                AllOf(HasSubstr("user root"), HasSubstr("authentication failed"), Not(HasSubstr("wrong"))));
}

TEST_F(EtcdClientTest, SpeaksTlsWithCertificates) {
    const tests::TemporaryFolder folder;
    const std::string key = folder / "key.pem", certificate = folder / "cert.pem";
    if (!find_in_path("openssl", Environment::of_this_process())) GTEST_SKIP() << "needs openssl";
    const auto made =
        run_and_capture({.argv = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                                  "-subj", "/CN=dtrain-test", "-addext", "subjectAltName=IP:127.0.0.1",
                                  "-keyout", key, "-out", certificate}},
                        seconds(60));
    ASSERT_TRUE(made.status.success()) << made.err;
    const TlsFiles tls{.authority = certificate, .certificate = certificate, .key = key};
    const EtcdServer server({"--cert-file", certificate, "--key-file", key, "--client-cert-auth",
                             "--trusted-ca-file", certificate},
                            tls);
    EtcdClient client(server.access());
    client.put(Change::put("k", "1"));
    EXPECT_EQ(client.get("k").keys.size(), 1U);

    auto unbelieving = server.access();
    unbelieving.tls.authority.clear();
    EXPECT_THAT(message_of<EtcdRefused>([&] { EtcdClient(unbelieving).get("k"); }), HasSubstr("certificate"));
    auto anonymous = server.access();
    anonymous.tls = {.authority = certificate};
    EXPECT_THROW(EtcdClient(anonymous).get("k"), EtcdError);
}

TEST(EtcdClient, SaysWhichEndpointsAreAway) {
    const auto first = free_endpoint(), second = free_endpoint();
    EtcdClient client({.endpoints = {first, second}});
    EXPECT_THAT(message_of<EtcdUnavailable>([&] { client.grant(5); }),
                AllOf(HasSubstr(first), HasSubstr(second), HasSubstr("refused")));
}

}  // namespace
}  // namespace dtrain::elastic
