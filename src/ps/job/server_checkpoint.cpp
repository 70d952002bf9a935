// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_checkpoint.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <xxhash.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/checkpoint.hpp>

#include "base/files.hpp"
#include "base/with_element.hpp"
#include "ps/store/load_table.hpp"
#include "ps/store/table_saver.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

constexpr const char* manifest_name = "servers.json";
constexpr std::string_view unfinished = ".tmp-";  // before the name of a checkpoint

std::string sum_of(std::string_view bytes) {
    return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string dense_name(const Share& share) {
    return fmt::format("dense-{:04}-of-{:04}.h5", share.server, share.servers);
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
    throw UsageError(fmt::format("{}: {}", file.string(), what));
}

std::string content_of(const std::filesystem::path& file) {
    auto content = read_file(file);
    if (!content) refuse(file, "it cannot be read");
    return std::move(*content);
}

/// Elements of a whole variable.
struct Elements {
    std::string variable;
    std::int64_t first = 0;
};

Elements elements_of(const Program& program, const std::string& name) {
    const auto& initializer = program.variable(name).initializer;
    if (initializer.block_of.empty()) return {name, 0};
    return {initializer.block_of, initializer.first_element};
}

Checkpoint checkpoint_of(const State& state, std::int64_t steps) {
    Checkpoint checkpoint;
    checkpoint.step = steps;
    for (const auto& tensor : state.tensors()) {
        auto& group = tensor.role == Role::parameter ? checkpoint.parameters : checkpoint.optimizer;
        auto& stored = group[tensor.name];
        stored.shape = tensor.view.shape;
        const auto copy = [&]<class Value>() {
            const auto values = tensor.view.as<Value>();
            stored.values = std::vector<Value>(values.begin(), values.end());
        };
        with_element(tensor.view.type, copy);
    }
    return checkpoint;
}

/// The saved dense tensors of all servers, as parts of whole variables.
class SavedDense {
  public:
    SavedDense(const std::filesystem::path& folder, const json& servers) {
        for (const auto& server : servers) {
            const auto file = folder / server.at("dense").at("file").get<std::string>();
            if (sum_of(content_of(file)) != server.at("dense").at("xxh3").get<std::string>())
                refuse(file, "it is damaged");
            auto checkpoint = load_checkpoint(file);
            for (const auto& tensor : server.at("dense").at("tensors")) {
                const auto name = tensor.at("name").get<std::string>();
                auto& group =
                    tensor.at("parameter").get<bool>() ? checkpoint.parameters : checkpoint.optimizer;
                const auto found = group.find(name);
                if (found == group.end()) refuse(file, fmt::format("it has no '{}'", name));
                parts_.push_back({tensor.at("variable").get<std::string>(),
                                  tensor.at("first").get<std::int64_t>(), std::move(found->second.values)});
            }
        }
        folder_ = folder;
    }

    void fill(const StateTensor& tensor, const Elements& wanted) const {
        with_element(tensor.view.type, [&]<class Value>() {
            const auto values = tensor.view.as<Value>();
            const auto count = static_cast<std::int64_t>(values.size());
            std::int64_t covered = 0;
            for (const auto& part : parts_) {
                if (covered == count) break;
                const auto* const from = std::get_if<std::vector<Value>>(&part.values);
                if (part.variable != wanted.variable || from == nullptr) continue;
                const auto size = static_cast<std::int64_t>(from->size());
                const auto begin = std::max(part.first, wanted.first);
                const auto end = std::min(part.first + size, wanted.first + count);
                if (begin >= end) continue;
                std::copy_n(from->begin() + (begin - part.first), end - begin,
                            values.begin() + (begin - wanted.first));
                covered += end - begin;
            }
            if (covered != count)
                refuse(folder_,
                       fmt::format("it has {} of the {} elements of '{}' that this job's model needs",
                                   covered, count, tensor.name));
        });
    }

  private:
    struct Part {
        std::string variable;
        std::int64_t first;
        CheckpointTensor::Values values;
    };
    std::filesystem::path folder_;
    std::vector<Part> parts_;
};

json read_manifest(const std::filesystem::path& folder) {
    const auto file = folder / manifest_name;
    const auto content = content_of(file);
    const auto line = content.find('\n');
    const auto text = std::string_view(content).substr(line == std::string::npos ? content.size() : line + 1);
    if (content.substr(0, line) !=
        fmt::format("dtrain servers 1 of {} bytes, xxh3 {}", text.size(), sum_of(text)))
        refuse(file, "it is damaged");
    auto manifest = json::parse(text);
    for (const auto& [name, sum] : manifest.at("others").items())
        if (sum_of(content_of(folder / name)) != sum.get<std::string>())
            refuse(folder / name, "it is damaged");
    return manifest;
}

/// The files of one table, by all servers.
SavedTable saved_table(const std::filesystem::path& folder, const json& servers, const std::string& name) {
    SavedTable saved{folder, {}};
    for (const auto& server : servers)
        for (const auto& table : server.at("tables"))
            if (auto file = table_file_from_json(table.dump()); file.table == name)
                saved.files.push_back(std::move(file));
    if (saved.files.empty()) refuse(folder, fmt::format("it has no table '{}'", name));
    return saved;
}

}  // namespace

std::string save_parts(const ServerPlan& plan, Server& server, const std::filesystem::path& folder) {
    const auto file = dense_name(plan.share);
    auto checkpoint = folder.filename().string();
    if (checkpoint.starts_with(unfinished)) checkpoint.erase(0, unfinished.size());
    const auto& state = server.dense().state();
    save_checkpoint(folder / file, checkpoint_of(state, server.steps()));
    json tensors = json::array();
    for (const auto& tensor : state.tensors()) {
        const auto [variable, first] = elements_of(plan.program, tensor.name);
        tensors.push_back({{"name", tensor.name},
                           {"parameter", tensor.role == Role::parameter},
                           {"variable", variable},
                           {"first", first}});
    }
    json tables = json::array();
    for (auto& table : server.tables()) {
        TableSaver saver(table, plan.share);
        saver.begin({.folder = folder, .checkpoint = checkpoint, .step = server.steps()});
        tables.push_back(json::parse(to_json(saver.finish())));
        saver.commit();
    }
    const json facts{
        {"steps", server.steps()},
        {"dense",
         {{"file", file}, {"xxh3", sum_of(content_of(folder / file))}, {"tensors", std::move(tensors)}}},
        {"tables", std::move(tables)}};
    return facts.dump();
}

void write_manifest(const std::filesystem::path& folder, std::span<const std::string> servers) {
    json all = json::array();
    std::set<std::string> theirs;
    for (const auto& facts : servers) {
        const auto& server = all.emplace_back(json::parse(facts));
        theirs.insert(server.at("dense").at("file"));
        for (const auto& table : server.at("tables")) theirs.insert(table.at("file"));
    }
    std::map<std::string, std::string> others;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (const auto name = entry.path().filename().string(); !theirs.contains(name))
            others[name] = sum_of(content_of(entry.path()));
    const auto text = json{{"servers", std::move(all)}, {"others", others}}.dump(1) + "\n";
    replace_file(folder / manifest_name,
                 fmt::format("dtrain servers 1 of {} bytes, xxh3 {}\n{}", text.size(), sum_of(text), text));
}

ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder) {
    const auto manifest = read_manifest(folder);
    const auto& servers = manifest.at("servers");
    ServerParts parts{DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads),
                      {},
                      servers.at(0).at("steps").get<std::int64_t>()};
    const SavedDense saved(folder, servers);
    for (const auto& tensor : parts.dense.state().tensors())
        saved.fill(tensor, elements_of(plan.program, tensor.name));
    for (const auto& [options, rate, spill] : plan.tables) {
        const auto table = saved_table(folder, servers, options.name);
        parts.tables.push_back({load_table(options, {&table, 1}, plan.share, spill).table, rate});
    }
    return parts;
}

}  // namespace dtrain::ps
