// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check_messages.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain::launch {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckTask, nonce, log_dir, working_dir, variables, lifetime_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckPeer, node, host, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(GpuIssue, gpu, pci, is_fault, text, remedy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(NodeInfo, port, host_name, dtrain, mpi, mpirun, nccl,
                                                cuda_runtime, cuda_driver, gpu_driver, nccl_built,
                                                nccl_needed, nccl_cuda, gpus, gpu_models, gpu_error,
                                                gpu_issues, rdma, shm_bytes, shm_free, memlock, open_files,
                                                worker_error, log_dir_error, working_dir_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProbeResult, to, error, round_trip_us, other_ahead_us)

namespace {

constexpr const char* task_key = "task";
constexpr const char* peers_key = "peers";
constexpr const char* info_key = "facts";
constexpr const char* probe_key = "probe";

std::string text_or_nothing(const json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// "" if the key is missing, as with an older dtrain-worker.
std::string text_if_given(const json& object, const char* key) {
    return object.contains(key) ? text_or_nothing(object.at(key)) : "";
}

std::vector<GpuIssue> issues_of(const json& gpu) {
    std::vector<GpuIssue> issues;
    for (const auto& issue : gpu.at("issues"))
        issues.push_back({.gpu = gpu.value("index", 0),
                          .pci = gpu.contains("index") ? "" : gpu.at("pci").get<std::string>(),
                          .is_fault = issue.at("fault").get<bool>(),
                          .text = issue.at("text").get<std::string>(),
                          .remedy = issue.at("remedy").get<std::string>()});
    return issues;
}

}  // namespace

std::string to_line(const ToChecked& message) {
    if (const auto* task = std::get_if<CheckTask>(&message)) return dumped({{task_key, *task}});
    return dumped({{peers_key, std::get<std::vector<CheckPeer>>(message)}});
}

std::string to_line(const FromChecked& message, const std::string& nonce) {
    const auto body = std::visit(
        [](const auto& each) {
            constexpr bool is_info = std::is_same_v<std::decay_t<decltype(each)>, NodeInfo>;
            return dumped({{is_info ? info_key : probe_key, each}});
        },
        message);
    return nonce + " " + body;
}

ToChecked parse_to_checked(std::string_view line) {
    try {
        const auto message = json::parse(line);
        if (message.contains(task_key)) return message.at(task_key).get<CheckTask>();
        return message.at(peers_key).get<std::vector<CheckPeer>>();
    } catch (const json::exception& error) {
        throw Error(fmt::format("\"{}\" is no task of a check: {}", line, error.what()));
    }
}

std::optional<FromChecked> parse_from_checked(std::string_view line, const std::string& nonce) {
    if (!line.starts_with(nonce + " ")) return std::nullopt;
    try {
        const auto message = json::parse(line.substr(nonce.size()));
        if (message.contains(info_key)) return message.at(info_key).get<NodeInfo>();
        return message.at(probe_key).get<ProbeResult>();
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

NodeInfo with_machine_info(NodeInfo info, const std::string& text) {
    try {
        const auto report = json::parse(text);
        const auto& mpi = report.at("mpi");
        info.mpi = trimmed(text_or_nothing(mpi.at("flavour")) + " " + text_or_nothing(mpi.at("version")));
        const auto& versions = report.at("versions");
        info.nccl = text_or_nothing(versions.at("nccl"));
        info.cuda_runtime = text_or_nothing(versions.at("cuda_runtime"));
        info.cuda_driver = text_or_nothing(versions.at("cuda_driver"));
        info.gpu_driver = text_if_given(versions, "gpu_driver");
        info.nccl_built = text_if_given(versions, "nccl_built");
        info.nccl_needed = text_if_given(versions, "nccl_needed");
        info.nccl_cuda = text_if_given(versions, "nccl_cuda");
        const auto& visible = report.at("cuda_visible_devices");
        info.gpus = static_cast<int>(visible.at("devices").size());
        info.gpu_error = text_or_nothing(visible.at("error"));
        std::set<std::string> models;
        for (const auto& device : visible.at("devices"))
            for (const auto& gpu : report.at("gpus")) {
                if (gpu.at("index") != device.at("gpu")) continue;
                models.insert(text_or_nothing(gpu.at("model")));
                std::ranges::move(issues_of(gpu), std::back_inserter(info.gpu_issues));
            }
        // If the machine lists no GPUs, programs see those of the driver.
        if (report.at("gpus").empty() && report.contains("other_gpus"))
            for (const auto& gpu : report.at("other_gpus"))
                std::ranges::move(issues_of(gpu), std::back_inserter(info.gpu_issues));
        models.erase("");
        info.gpu_models = fmt::format("{}", fmt::join(models, ", "));
        for (const auto& adapter : report.at("adapters"))
            info.rdma = info.rdma || adapter.at("rdma").get<bool>();
    } catch (const json::exception& error) {
        throw Error(fmt::format("dtrain-worker --info=json gives no report of a machine: {}", error.what()));
    }
    return info;
}

}  // namespace dtrain::launch
