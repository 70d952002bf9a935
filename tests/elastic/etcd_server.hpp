// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "elastic/etcd_access.hpp"
#include "elastic/etcd_client.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::tests {

/// An etcd of one member on free ports of the loopback, with its data in a folder of its own.
class EtcdServer {
  public:
    /// @param options for etcd besides; with "--cert-file" it is spoken to by https
    explicit EtcdServer(std::vector<std::string> options = {}, elastic::TlsFiles tls = {});
    EtcdServer(const EtcdServer&) = delete;
    EtcdServer& operator=(const EtcdServer&) = delete;
    ~EtcdServer() = default;

    static bool is_installed();

    const std::string& url() const { return access_.endpoints.front(); }
    elastic::EtcdAccess access() const { return access_; }

    void kill();
    /// The same server with the same data again.
    void start();
    /// It neither answers nor refuses.
    void freeze();
    void thaw();

    /// Posts to the gateway, for what EtcdClient has no use for.
    void post(const std::string& path, const std::string& body) const;
    /// Users from now on: root, with this password.
    void demand_login(const std::string& password) const;

  private:
    TemporaryFolder folder_;
    std::vector<std::string> command_;
    elastic::EtcdAccess access_;
    std::unique_ptr<Subprocess> process_;
};

/// Tests that need an etcd.
class EtcdTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!EtcdServer::is_installed()) GTEST_SKIP() << "needs etcd (Debian: etcd-server)";
    }
};

}  // namespace dtrain::tests
