// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scrape/prometheus_module.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/module_file.hpp"

namespace dtrain::scrape {
namespace {

PrometheusUnavailable unavailable(const std::string& reason, const std::string& remedy) {
    return PrometheusUnavailable(
        fmt::format("metrics cannot be given to Prometheus on {}: {}; {}", host_name(), reason, remedy));
}

const PrometheusModule& in_file() try {
    using Open = const PrometheusModule* (*)();
    const auto open = reinterpret_cast<Open>(open_module(
        {"libdtrain_prometheus.so", "DTRAIN_PROMETHEUS_MODULE", "dtrain_open_prometheus"}, RTLD_NOW));
    return *open();
} catch (const ModuleError& error) {
    switch (error.kind()) {
        case ModuleError::Kind::absent:
            throw unavailable(error.what(),
                              "dtrain was built without prometheus-cpp, or its module was not installed: "
                              "install prometheus-cpp-dev and build with -Dprometheus=enabled");
        case ModuleError::Kind::foreign:
            throw unavailable(fmt::format("{} is no Prometheus module of dtrain", error.file()),
                              "DTRAIN_PROMETHEUS_MODULE names another file, or nothing");
        case ModuleError::Kind::unloadable:
            break;
    }
    throw unavailable(error.what(), "install prometheus-cpp there (Debian: libprometheus-cpp-core1.0)");
}

}  // namespace

const PrometheusModule& prometheus_module() {
    static const PrometheusModule& module = in_file();
    return module;
}

}  // namespace dtrain::scrape
