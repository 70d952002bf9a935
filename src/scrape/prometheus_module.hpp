// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/error.hpp>

#include "scrape/family.hpp"

namespace dtrain::scrape {

/// This machine has no prometheus-cpp, or dtrain was built without.
class PrometheusUnavailable : public UsageError {
  public:
    using UsageError::UsageError;
};

/// All of dtrain that calls prometheus-cpp. It is a module of its own (libdtrain_prometheus.so): neither
/// programs that use the library nor the ranks of a job need prometheus-cpp.
class PrometheusModule {
  public:
    virtual ~PrometheusModule() = default;

    /// Prometheus' text format, version 0.0.4
    /// (https://prometheus.io/docs/instrumenting/exposition_formats/).
    virtual std::string text(std::span<const Family> families) const = 0;
};

/// Opened by the first call, and never closed. @throws PrometheusUnavailable what is missing, and what to do
const PrometheusModule& prometheus_module();

}  // namespace dtrain::scrape
