// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scrape/prometheus_module.hpp"

#include <cstdlib>
#include <dlfcn.h>

#include <fmt/format.h>

#include "base/host.hpp"

namespace dtrain::scrape {
namespace {

PrometheusUnavailable unavailable(const std::string& reason, const std::string& remedy) {
    return PrometheusUnavailable(
        fmt::format("metrics cannot be given to Prometheus on {}: {}; {}", host_name(), reason, remedy));
}

const PrometheusModule& in_file() {
    const char* given = std::getenv("DTRAIN_PROMETHEUS_MODULE");
    const std::string file = given != nullptr && *given != '\0' ? given : "libdtrain_prometheus.so";
    void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
        const std::string reason = ::dlerror();
        if (reason.starts_with(file + ": cannot open"))
            throw unavailable(reason,
                              "dtrain was built without prometheus-cpp, or its module was not installed: "
                              "install prometheus-cpp-dev and build with -Dprometheus=enabled");
        throw unavailable(reason, "install prometheus-cpp there (Debian: libprometheus-cpp-core1.0)");
    }
    using Open = const PrometheusModule* (*)();
    const auto open = reinterpret_cast<Open>(::dlsym(module, "dtrain_open_prometheus"));
    if (open == nullptr)
        throw unavailable(fmt::format("{} is no Prometheus module of dtrain", file),
                          "DTRAIN_PROMETHEUS_MODULE names another file, or nothing");
    return *open();
}

}  // namespace

const PrometheusModule& prometheus_module() {
    static const PrometheusModule& module = in_file();
    return module;
}

}  // namespace dtrain::scrape
