// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/error.hpp>

#include "elastic/etcd_access.hpp"
#include "elastic/etcd_wire.hpp"
#include "elastic/http.hpp"

namespace dtrain::elastic {

/// etcd did not do what it was asked for.
class EtcdError : public Error {
  public:
    EtcdError(const std::string& endpoint, const std::string& said);

    const std::string& endpoint() const { return endpoint_; }
    const std::string& said() const { return said_; }

  private:
    std::string endpoint_;
    std::string said_;
};

/// No endpoint answers, or none can at the moment: later is another try.
class EtcdAway : public EtcdError {
  public:
    using EtcdError::EtcdError;
};

/// etcd's answer is no, or its certificate is not believed: another try gives the same.
class EtcdRefused : public EtcdError {
  public:
    EtcdRefused(const std::string& endpoint, const Refusal& refusal)
        : EtcdError(endpoint, refusal.text), code_(refusal.code) {}

    int code() const { return code_; }  ///< as of Refusal

  private:
    int code_;
};

struct EtcdLimits {
    std::chrono::milliseconds connect{2000};  ///< for each endpoint
    std::chrono::milliseconds request{5000};  ///< for each endpoint
};

/// A client of etcd 3.4 or later. Goes from endpoint to endpoint until one answers, logs in again when its
/// token has expired. For one thread; interrupt() alone may come from another.
///
/// Every call throws EtcdAway or EtcdRefused. After EtcdAway a change may have been made all the same, and a
/// transaction that the next endpoint is asked for may find the work of the first: look who holds the key.
class EtcdClient {
  public:
    explicit EtcdClient(EtcdAccess access, EtcdLimits limits = {});

    Found get(std::string_view key);
    Found get_prefix(std::string_view prefix);
    void put(const Change& put);
    /// How many there were.
    std::int64_t erase(std::string_view key);
    std::int64_t erase_prefix(std::string_view prefix);

    /// The server may give more seconds than were asked for.
    Lease grant(int seconds);
    /// With 0 seconds when there is no such lease any more.
    Lease keep_alive(std::int64_t lease);
    /// The keys of the lease go with it. No error when it is gone already.
    void revoke(std::int64_t lease);

    /// Makes all changes at once if all conditions hold; whether they did.
    bool transact(const std::vector<Condition>& conditions, const std::vector<Change>& changes);

    /// Waits until a key with this prefix has changed after `revision`, at most for `limit`. True also when
    /// etcd cannot tell any more.
    bool changed_since(std::string_view prefix, std::int64_t revision, std::chrono::milliseconds limit);

    /// Makes every call throw EtcdAway, the one that is under way too. For other threads.
    void interrupt() { http_.interrupt(); }

  private:
    template <class Read>
    auto call(const std::string& path, const std::string& body, const Read& read);
    HttpReply call_any(const std::string& path, HttpRequest request);
    HttpReply call_one(const std::string& endpoint, const std::string& path, HttpRequest request);
    void log_in(const std::string& endpoint);

    EtcdAccess access_;
    EtcdLimits limits_;
    Http http_;
    std::size_t endpoint_ = 0;  ///< that answered last
    std::string token_;
};

}  // namespace dtrain::elastic
