// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/job_keys.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "identity/host_name.hpp"

namespace dtrain::elastic {
namespace {

using Json = nlohmann::json;

Json json_of(const Node& node) {
    return {{"name", node.name},           {"address", node.address}, {"host", node.host},
            {"processes", node.processes}, {"gpus", node.gpus},       {"dtrain", node.version},
            {"launcher", node.launcher},   {"start", node.start}};
}

Node read_node(const Json& json) {
    Node out;
    json.at("name").get_to(out.name);
    json.at("address").get_to(out.address);
    json.at("host").get_to(out.host);
    json.at("processes").get_to(out.processes);
    json.at("gpus").get_to(out.gpus);
    json.at("dtrain").get_to(out.version);
    out.launcher = json.value("launcher", "");  // earlier versions did not write it
    json.at("start").get_to(out.start);
    return out;
}

/// Addresses become parts of command lines, and anyone with write access to etcd may have written the key.
bool can_be(const Node& node) {
    if (!cluster::is_host(node.address)) return false;
    const auto number = std::string_view(node.name).substr(std::min(node.address.size(), node.name.size()));
    return node.name.starts_with(node.address) &&
           (number.empty() || (number.front() == '#' && parse_int(number.substr(1))));
}

std::optional<NodeCount> count_of(const std::string& text) {
    try {
        return parse_node_count("np", text);
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

}  // namespace

JobKeys::JobKeys(const std::string& job_id)
    : job_id_(job_id), state_("/paddle/" + job_id), below_(state_ + "/") {
    if (job_id.empty() || job_id.find('/') != std::string::npos)
        throw UsageError(
            fmt::format("--job_id {}: the id of an elastic job is its key in etcd; write one without /",
                        job_id.empty() ? "\"\"" : job_id));
}

std::string to_json(const Node& node) {
    return dumped(json_of(node));
}

std::optional<Node> node_of(std::string_view json) {
    auto node = read_json(json, read_node);
    return node && can_be(*node) ? node : std::nullopt;
}

bool is_same_launcher(const Node& a, const Node& b) {
    return a.name == b.name && (a.launcher == b.launcher || a.launcher.empty() || b.launcher.empty());
}

std::string to_json(const Start& start) {
    auto nodes = Json::array();
    for (const auto& node : start.nodes) nodes.push_back(json_of(node));
    return dumped({{"number", start.number},
                   {"run", start.run},
                   {"head", start.coordinator},
                   {"nodes", std::move(nodes)}});
}

std::optional<Start> start_of(std::string_view json) {
    auto start = read_json(json, [](const Json& object) {
        Start out;
        object.at("number").get_to(out.number);
        out.run = object.value("run", "");  // earlier versions did not write it
        object.at("head").get_to(out.coordinator);
        for (const auto& node : object.at("nodes")) out.nodes.push_back(read_node(node));
        return out;
    });
    return start && std::all_of(start->nodes.begin(), start->nodes.end(), can_be) ? start : std::nullopt;
}

const Node* Start::node(std::string_view name) const {
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const Node& each) { return each.name == name; });
    return found == nodes.end() ? nullptr : &*found;
}

const Node* JobView::node(std::string_view name) const {
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const LivingNode& each) { return each.node.name == name; });
    return found == nodes.end() ? nullptr : &found->node;
}

bool JobView::has(const Node& earlier) const {
    const auto* now = node(earlier.name);
    return now != nullptr && is_same_launcher(*now, earlier);
}

std::vector<std::string> JobView::names() const {
    std::vector<std::string> out;
    for (const auto& each : nodes) out.push_back(each.node.name);
    return out;
}

JobView job_view(const JobKeys& keys, const Found& found) {
    JobView out{.revision = found.revision};
    for (const auto& each : found.keys) {
        if (each.key == keys.state()) {
            out.state = each.value;
        } else if (each.key == keys.wanted()) {
            out.wanted = count_of(each.value);
        } else if (each.key == keys.coordinator()) {
            out.coordinator = each.value;
            out.coordinator_lease = each.lease;
        } else if (each.key == keys.start()) {
            out.start = start_of(each.value);
        } else if (each.key == keys.outcome()) {
            out.outcome = parse_int(each.value);
        } else if (each.key.starts_with(keys.nodes())) {
            auto node = node_of(each.value);
            if (node && keys.node(node->name) == each.key)
                out.nodes.push_back({.node = *std::move(node), .arrived = each.created});
        }
    }
    std::sort(out.nodes.begin(), out.nodes.end(),
              [](const LivingNode& a, const LivingNode& b) { return a.arrived < b.arrived; });
    return out;
}

}  // namespace dtrain::elastic
