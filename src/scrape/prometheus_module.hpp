// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/error.hpp>

#include "scrape/family.hpp"

namespace dtrain::scrape {

/// This machine lacks prometheus-cpp, or dtrain was built without it.
class PrometheusUnavailable : public UsageError {
  public:
    using UsageError::UsageError;
};

/// All of dtrain's calls of prometheus-cpp. It is a separate module (libdtrain_prometheus.so), so that
/// neither programs that use the library nor the ranks of a job need prometheus-cpp.
class PrometheusModule {
  public:
    virtual ~PrometheusModule() = default;

    /// Prometheus' text format, version 0.0.4
    /// (https://prometheus.io/docs/instrumenting/exposition_formats/).
    virtual std::string text(std::span<const Family> families) const = 0;
};

/// Opened by the first call, and never closed.
/// @throws PrometheusUnavailable naming what is missing, and the remedy
const PrometheusModule& prometheus_module();

}  // namespace dtrain::scrape
