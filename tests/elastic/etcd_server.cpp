// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "etcd_server.hpp"

#include <csignal>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>

#include <fmt/format.h>

#include "base/ports.hpp"

namespace dtrain::tests {
namespace {

using std::chrono::milliseconds;

void wait_until_it_answers(const elastic::EtcdAccess& access) {
    const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) try {
            elastic::EtcdClient(access).get("x");
            return;
        } catch (const elastic::EtcdRefused&) {
            return;  // it wants a user
        } catch (const elastic::EtcdUnavailable&) {
            if (std::chrono::steady_clock::now() > give_up_at) throw;
            std::this_thread::sleep_for(milliseconds(50));
        }
}

}  // namespace

EtcdServer::EtcdServer(std::vector<std::string> options, elastic::TlsFiles tls) {
    const auto ports = HeldPorts::any(2).numbers();
    const auto scheme = tls == elastic::TlsFiles{} ? "http" : "https";
    const auto client = fmt::format("{}://127.0.0.1:{}", scheme, ports[0]);
    const auto peer = fmt::format("http://127.0.0.1:{}", ports[1]);
    command_ = {"etcd",
                "--data-dir",
                folder_ / "data",
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                "default=" + peer,
                "--logger",
                "zap",
                "--log-outputs",
                folder_ / "log"};
    command_.insert(command_.end(), options.begin(), options.end());
    access_ = {.endpoints = {client}, .tls = std::move(tls)};
    start();
}

bool EtcdServer::is_installed() {
    return find_in_path("etcd", Environment::of_this_process()).has_value();
}

void EtcdServer::kill() {
    process_.reset();
}

void EtcdServer::start() {
    process_ = std::make_unique<Subprocess>(ProcessOptions{.argv = command_, .parent_death_signal = SIGKILL});
    wait_until_it_answers(access_);
}

void EtcdServer::freeze() {
    process_->send(SIGSTOP);
    // On a busy machine threads of it may answer for some time yet.
    siginfo_t stopped{};
    ::waitid(P_PID, static_cast<id_t>(process_->pid()), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

void EtcdServer::thaw() {
    process_->send(SIGCONT);
}

void EtcdServer::post(const std::string& path, const std::string& body) const {
    elastic::Http http(access_.tls);
    const auto reply = http.post({.url = url() + "/v3/" + path,
                                  .body = body,
                                  .connect_limit = milliseconds(5000),
                                  .limit = milliseconds(10'000)});
    if (reply.status != 200) throw std::runtime_error(path + ": " + reply.body);
}

void EtcdServer::demand_login(const std::string& password) const {
    post("auth/role/add", R"({"name":"root"})");
    post("auth/user/add", fmt::format(R"({{"name":"root","password":"{}"}})", password));
    post("auth/user/grant", R"({"user":"root","role":"root"})");
    post("auth/enable", "{}");
}

}  // namespace dtrain::tests
