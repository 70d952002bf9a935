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

/// etcd did not carry out a request.
class EtcdError : public Error {
  public:
    EtcdError(const std::string& endpoint, const std::string& said);

    const std::string& endpoint() const { return endpoint_; }
    const std::string& said() const { return said_; }

  private:
    std::string endpoint_;
    std::string said_;
};

/// No endpoint answers, or none can at the moment: a retry may succeed.
class EtcdAway : public EtcdError {
  public:
    using EtcdError::EtcdError;
};

/// etcd refuses the request, or its certificate is not trusted: a retry gives the same result.
class EtcdRefused : public EtcdError {
  public:
    EtcdRefused(const std::string& endpoint, const Refusal& refusal)
        : EtcdError(endpoint, refusal.text), code_(refusal.code) {}

    int code() const { return code_; }  ///< as in Refusal

  private:
    int code_;
};

struct EtcdLimits {
    std::chrono::milliseconds connect{2000};  ///< per endpoint
    std::chrono::milliseconds request{5000};  ///< per endpoint
};

/// A client of etcd 3.4 or later. Tries the endpoints in turn until one answers, and logs in again when its
/// token has expired. Not thread-safe, except interrupt().
///
/// Every call throws EtcdAway or EtcdRefused. After EtcdAway a change may have been made nevertheless, and a
/// transaction that is repeated at the next endpoint may find the changes of the first attempt: check who
/// holds the key.
class EtcdClient {
  public:
    explicit EtcdClient(EtcdAccess access, EtcdLimits limits = {});

    Found get(std::string_view key);
    Found get_prefix(std::string_view prefix);
    void put(const Change& put);
    /// Returns the number of erased keys.
    std::int64_t erase(std::string_view key);
    std::int64_t erase_prefix(std::string_view prefix);

    /// The server may grant more seconds than requested.
    Lease grant(int seconds);
    /// Returns 0 seconds if the lease no longer exists.
    Lease keep_alive(std::int64_t lease);
    /// Also deletes the keys of the lease. No error if the lease no longer exists.
    void revoke(std::int64_t lease);

    /// Makes all changes atomically if all conditions hold; returns whether they did.
    bool transact(const std::vector<Condition>& conditions, const std::vector<Change>& changes);

    /// Waits until a key with this prefix has changed after `revision`, at most for `limit`. Also true if
    /// etcd can no longer tell.
    bool changed_since(std::string_view prefix, std::int64_t revision, std::chrono::milliseconds limit);

    /// Makes every call throw EtcdAway, including the current one. May be called by other threads.
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
    std::size_t endpoint_ = 0;  ///< index of the endpoint that answered last
    std::string token_;
};

}  // namespace dtrain::elastic
