// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: etcdctl's variables (https://etcd.io/docs/v3.4/dev-guide/interacting_v3/); Paddle's host:port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "elastic/etcd_access.hpp"
#include "support/message_of.hpp"

namespace dtrain::elastic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

auto endpoints(std::string_view servers, const Environment& environment = {}) {
    return etcd_access("--elastic_server", servers, environment).endpoints;
}

TEST(EtcdAccess, ReadsEndpoints) {
    EXPECT_THAT(endpoints("127.0.0.1:2379"), ElementsAre("http://127.0.0.1:2379"));
    EXPECT_THAT(endpoints("etcd.example"), ElementsAre("http://etcd.example:2379"));
    EXPECT_THAT(endpoints("a:1, b:2,https://c:3/"), ElementsAre("http://a:1", "http://b:2", "https://c:3"));
    EXPECT_THAT(endpoints("[2001:db8::1]:2379"), ElementsAre("http://[2001:db8::1]:2379"));
}

TEST(EtcdAccess, CertificatesMeanHttps) {
    EXPECT_THAT(endpoints("a:1,http://b:2", {{"ETCDCTL_CACERT", "/ca.pem"}}),
                ElementsAre("https://a:1", "http://b:2"));
    const auto access =
        etcd_access("--master", "a:1", {{"ETCDCTL_CERT", "/c.pem"}, {"ETCDCTL_KEY", "/k.pem"}});
    EXPECT_EQ(access.tls, (TlsFiles{.certificate = "/c.pem", .key = "/k.pem"}));
    EXPECT_THAT(access.endpoints, ElementsAre("https://a:1"));
}

TEST(EtcdAccess, TakesTheUserAsEtcdctlDoes) {
    const auto both = etcd_access("--master", "a", {{"ETCDCTL_USER", "me:se:cret"}});
    EXPECT_EQ(both.user, "me");
    EXPECT_EQ(both.password, "se:cret");
    const auto apart = etcd_access("--master", "a", {{"ETCDCTL_USER", "me"}, {"ETCDCTL_PASSWORD", "x"}});
    EXPECT_EQ(apart.user, "me");
    EXPECT_EQ(apart.password, "x");
}

TEST(EtcdAccess, RefusesWhatIsNoEndpoint) {
    for (const char* text : {"", "a,,b", "a:0", "a:99999", "a/b", "me@a", "a?x", "ftp://a", "a b"})
        EXPECT_THAT(message_of([&] { endpoints(text); }), HasSubstr("--elastic_server")) << text;
    EXPECT_THAT(message_of([] { endpoints("a", {{"ETCDCTL_CERT", "/c"}}); }), HasSubstr("ETCDCTL_KEY"));
    EXPECT_THAT(message_of([] {
                    endpoints("a", {{"ETCDCTL_PASSWORD", "secret"}});
                }),
                testing::AllOf(HasSubstr("ETCDCTL_USER"), testing::Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace dtrain::elastic
