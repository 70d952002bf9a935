// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/redact.hpp"

namespace dtrain {
namespace {

/// spdlog writes levels in lower case; tools that read Paddle's logs expect INFO, WARNING, ERROR.
class UpperLevel : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string_view name = message.level == spdlog::level::warn    ? "WARNING"
                                      : message.level == spdlog::level::err   ? "ERROR"
                                      : message.level == spdlog::level::debug ? "DEBUG"
                                                                              : "INFO";
        out.append(name.data(), name.data() + name.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<UpperLevel>(); }
};

spdlog::level::level_enum level_of_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warning:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

}  // namespace

void set_up_log(const std::string& program) {
    auto logger =
        std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<UpperLevel>('*').set_pattern("%* %Y-%m-%d %H:%M:%S,%e %n] %v");
    logger->set_formatter(std::move(formatter));
    spdlog::set_default_logger(std::move(logger));
}

void set_log_level(const std::string& level) {
    spdlog::set_level(level == "DEBUG"      ? spdlog::level::debug
                      : level == "WARNING"  ? spdlog::level::warn
                      : level == "ERROR"    ? spdlog::level::err
                      : level == "CRITICAL" ? spdlog::level::critical
                                            : spdlog::level::info);
}

bool is_logged(LogLevel level) {
    return spdlog::should_log(level_of_spdlog(level));
}

void write_log(LogLevel level, std::string_view message) {
    spdlog::log(level_of_spdlog(level), "{}", redacted_text(message));
}

}  // namespace dtrain
