// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/messages.hpp"

#include <csignal>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain::transport {
namespace {

using nlohmann::json;

constexpr std::size_t max_quoted = 40;
constexpr std::size_t max_error = 200;  // those of the JSON library quote what they cannot read

/// Names on the wire are those of dtrain 0.1, so that launchers of two versions can say that they differ.
template <class T>
struct Name;
template <>
struct Name<JoinRequest> {
    static constexpr const char* text = "hello";
};
template <>
struct Name<Refused> {
    static constexpr const char* text = "refused";
};
template <>
struct Name<Accepted> {
    static constexpr const char* text = "welcome";
};
template <>
struct Name<CheckCall> {
    static constexpr const char* text = "check_call";
};
template <>
struct Name<RunOn> {
    static constexpr const char* text = "run_on";
};
template <>
struct Name<UseSsh> {
    static constexpr const char* text = "use_ssh";
};
template <>
struct Name<RunDaemon> {
    static constexpr const char* text = "run_daemon";
};
template <>
struct Name<StopDaemon> {
    static constexpr const char* text = "stop_daemon";
};
template <>
struct Name<DaemonOutput> {
    static constexpr const char* text = "daemon_output";
};
template <>
struct Name<DaemonEnded> {
    static constexpr const char* text = "daemon_ended";
};
template <>
struct Name<StopJob> {
    static constexpr const char* text = "stop_job";
};
template <>
struct Name<FinalLine> {
    static constexpr const char* text = "last_words";
};
template <>
struct Name<JobEnded> {
    static constexpr const char* text = "job_ended";
};
template <>
struct Name<Heartbeat> {
    static constexpr const char* text = "heartbeat";
};

/// Calls `field(name, value)` for every field of a message, so that reading and writing cannot differ.
template <class M, class Field>
void fields(M& message, const Field& field) {
    using T = std::remove_const_t<M>;
    if constexpr (std::is_same_v<T, JoinRequest>) {
        field("version", message.version);
        field("host_name", message.host_name);
        field("node_count", message.node_count);
        field("address", message.address);
        field("wanted_node", message.wanted_node);
        field("nodes", message.nodes);
        field("ranks", message.ranks);
        field("servers", message.servers);
        field("visible_gpus", message.visible_gpus);
        field("assignments", message.assignments);
        field("log_dir", message.log_dir);
        field("job_id", message.job_id);
        field("run_mode", message.run_mode);
        field("program", message.program);
        field("working_dir", message.working_dir);
        field("leads", message.leads);
        field("check", message.check);
        field("unable", message.unable);
    } else if constexpr (std::is_same_v<T, Refused>) {
        field("reason", message.reason);
        field("of_another_job", message.of_another_job);
    } else if constexpr (std::is_same_v<T, Accepted>) {
        field("node", message.node);
        field("nodes", message.nodes);
        field("first_rank", message.first_rank);
        field("ranks", message.ranks);
        field("members", message.members);
        field("by_ssh", message.by_ssh);
    } else if constexpr (std::is_same_v<T, CheckCall>) {
        field("port", message.port);
        field("nonce", message.nonce);
    } else if constexpr (std::is_same_v<T, RunOn>) {
        field("host", message.host);
        field("command", message.command);
    } else if constexpr (std::is_same_v<T, UseSsh>) {
        field("host", message.host);
    } else if constexpr (std::is_same_v<T, RunDaemon>) {
        field("command", message.command);
        field("run", message.run);
        field("job_token", message.job_token);
        field("grace_ms", message.grace_ms);
    } else if constexpr (std::is_same_v<T, StopDaemon>) {
        field("run", message.run);
    } else if constexpr (std::is_same_v<T, DaemonOutput>) {
        field("run", message.run);
        field("to_stderr", message.to_stderr);
        field("text", message.text);
    } else if constexpr (std::is_same_v<T, DaemonEnded>) {
        field("run", message.run);
        field("status", message.status);
        field("reason", message.reason);
    } else if constexpr (std::is_same_v<T, StopJob>) {
        field("signal", message.signal);
    } else if constexpr (std::is_same_v<T, FinalLine>) {
        field("log", message.log);
        field("line", message.line);
    } else if constexpr (std::is_same_v<T, JobEnded>) {
        field("status", message.status);
        field("text", message.text);
    }
}

struct Write {
    json& object;
    template <class T>
    void operator()(const char* name, const T& value) const {
        object[name] = value;
    }
    template <class T>
    void operator()(const char* name, const std::optional<T>& value) const {
        if (value) object[name] = *value;
    }
};

struct Read {
    const json& object;
    template <class T>
    void operator()(const char* name, T& value) const {
        object.at(name).get_to(value);
    }
    void operator()(const char* name, int& value) const { value = number(name, object.at(name)); }
    void operator()(const char* name, std::optional<int>& value) const {
        if (object.contains(name)) value = number(name, object.at(name));
    }
    void operator()(const char* name, std::optional<std::string>& value) const {
        if (object.contains(name)) value = object.at(name).get<std::string>();
    }

    /// For counts, numbers, statuses and signals: none is negative.
    static int number(std::string_view name, const json& value) {
        const bool is_one = value.is_number_unsigned() && value.get<std::uint64_t>() <= largest(name) &&
                            (name != "signal" || value != 0);
        if (!is_one) throw LinkError(fmt::format("\"{}\" of a message is {}", name, described(value)));
        return value.get<int>();
    }

  private:
    static std::uint64_t largest(std::string_view name) {
        if (name == "signal") return SIGRTMAX;
        if (name == "status") return 255;  // as in a shell
        return std::numeric_limits<int>::max();
    }
    /// Of an object or array the kind only: dump() calls itself for what is in it, and runs out of stack.
    static std::string described(const json& value) {
        return value.is_structured() ? value.type_name() : one_line(dumped(value), max_quoted);
    }
};

template <class T, class... Others>
Message decode_as(const std::string& name, const json& object) {
    if (name == Name<T>::text) {
        T message;
        fields(message, Read{object});
        return message;
    }
    if constexpr (sizeof...(Others) > 0)
        return decode_as<Others...>(name, object);
    else
        throw LinkError(fmt::format("a message of unknown kind \"{}\"", one_line(name, max_quoted)));
}

template <class... Kinds>
Message decode_one_of(const std::variant<Kinds...>*, const std::string& name, const json& object) {
    return decode_as<Kinds...>(name, object);
}

}  // namespace

std::string encode(const Message& message) {
    auto object = json::object();
    std::visit(
        [&object](const auto& each) {
            object["is"] = Name<std::remove_cvref_t<decltype(each)>>::text;
            fields(each, Write{object});
        },
        message);
    return dumped(object);
}

Message decode(std::string_view text) {
    try {
        const auto object = json::parse(text);
        return decode_one_of(static_cast<const Message*>(nullptr), object.at("is").get<std::string>(),
                             object);
    } catch (const json::exception& error) {
        throw LinkError("a message that cannot be read: " + one_line(error.what(), max_error));
    }
}

}  // namespace dtrain::transport
