// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

#include "base/host.hpp"
#include "base/text.hpp"

namespace dtrain::metrics {

using nlohmann::ordered_json;

namespace {

ordered_json json_of(const Fact& fact) {
    return {{"name", fact.name}, {"value", fact.value}};
}

ordered_json json_of(const MetricRow& row) {
    ordered_json values = ordered_json::object();
    for (const auto& [name, value] : row.values) values[name] = value;
    return {{"event", row.event}, {"time", row.time}, {"seconds", row.seconds},
            {"epoch", row.epoch}, {"step", row.step}, {"values", values}};
}

ordered_json json_of(const RankLocation& location) {
    return {{"rank", location.rank}, {"role", location.role},
            {"host", location.host}, {"local_rank", location.local_rank},
            {"gpus", location.gpus}, {"cpus", location.cpus},
            {"log", location.log}};
}

ordered_json json_of(const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json json_of(const RankTimes& times) {
    return {{"rank", times.rank},
            {"compute", times.compute},
            {"communicate", json_of(times.communicate)},
            {"wait", json_of(times.wait)},
            {"input", times.input},
            {"rest", times.rest}};
}

ordered_json json_of(const SlowEpoch& slow) {
    return {{"epoch", slow.epoch}, {"rank", slow.rank}, {"waited", slow.waited}};
}

ordered_json json_of(const RankGpus& gpus) {
    return {{"rank", gpus.rank},
            {"utilization", json_of(gpus.utilization)},
            {"watts", json_of(gpus.watts)},
            {"memory", json_of(gpus.memory)},
            {"celsius", json_of(gpus.celsius)}};
}

ordered_json json_of(const RankSpan& span) {
    return {{"rank", span.rank}, {"start", span.start}, {"begin", span.begin},
            {"end", span.end},   {"state", span.state}, {"text", span.text}};
}

ordered_json json_of(const RunEvent& event) {
    return {{"seconds", event.seconds}, {"text", event.text}, {"is_bad", event.is_bad}};
}

template <class Item>
ordered_json list_of(const std::vector<Item>& items) {
    auto list = ordered_json::array();
    for (const auto& item : items) list.push_back(json_of(item));
    return list;
}

ordered_json json_of(const std::optional<Failure>& failure) {
    if (!failure) return nullptr;
    return {{"headline", failure->headline}, {"facts", list_of(failure->info)}, {"text", failure->text}};
}

/// The items of a list, each converted by `read`.
template <class Read>
auto items_of(const ordered_json& list, const Read& read) {
    std::vector<decltype(read(list))> items;
    for (const auto& item : list) items.push_back(read(item));
    return items;
}

Fact fact_of(const ordered_json& json) {
    return {json.at("name"), json.at("value")};
}

MetricRow row_of(const ordered_json& json) {
    MetricRow row{.event = json.at("event"),
                  .time = json.at("time"),
                  .seconds = json.at("seconds"),
                  .epoch = json.at("epoch"),
                  .step = json.at("step")};
    for (const auto& [name, value] : json.at("values").items())
        row.values.push_back(
            {name, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>()});
    return row;
}

RankLocation location_of(const ordered_json& json) {
    return {json.at("rank"), json.at("role"), json.at("host"), json.at("local_rank"),
            json.at("gpus"), json.at("cpus"), json.at("log")};
}

std::optional<double> number_of(const ordered_json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

RankTimes times_of(const ordered_json& json) {
    return {
        json.at("rank"),  json.at("compute"), number_of(json.at("communicate")), number_of(json.at("wait")),
        json.at("input"), json.at("rest")};
}

SlowEpoch slow_epoch_of(const ordered_json& json) {
    return {json.at("epoch"), json.at("rank"), json.at("waited")};
}

RankGpus gpus_of(const ordered_json& json) {
    return {json.at("rank"), number_of(json.at("utilization")), number_of(json.at("watts")),
            number_of(json.at("memory")), number_of(json.at("celsius"))};
}

RankSpan span_of(const ordered_json& json) {
    return {json.at("rank"), json.at("start"), json.at("begin"),
            json.at("end"),  json.at("state"), json.at("text")};
}

RunEvent event_of(const ordered_json& json) {
    return {json.at("seconds"), json.at("text"), json.at("is_bad")};
}

}  // namespace

std::string run_json(const Run& run) {
    const ordered_json json{{"title", run.title},
                            {"outcome", run.outcome},
                            {"began", run.began},
                            {"seconds", run.seconds},
                            {"facts", list_of(run.info)},
                            {"rows", list_of(run.rows)},
                            {"places", list_of(run.locations)},
                            {"times", list_of(run.times)},
                            {"slow_epochs", list_of(run.slow_epochs)},
                            {"gpus", list_of(run.gpus)},
                            {"spans", list_of(run.spans)},
                            {"events", list_of(run.events)},
                            {"failure", json_of(run.failure)}};
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::optional<Run> parse_run(std::string_view text) {
    try {
        const auto json = ordered_json::parse(text);
        Run run{.title = json.at("title"),
                .outcome = json.at("outcome"),
                .began = json.at("began"),
                .seconds = json.at("seconds"),
                .info = items_of(json.at("facts"), fact_of),
                .rows = items_of(json.at("rows"), row_of),
                .locations = items_of(json.at("places"), location_of),
                .times = items_of(json.at("times"), times_of),
                .slow_epochs = items_of(json.at("slow_epochs"), slow_epoch_of),
                .gpus = items_of(json.at("gpus"), gpus_of),
                .spans = items_of(json.at("spans"), span_of),
                .events = items_of(json.at("events"), event_of)};
        if (const auto& failure = json.at("failure"); !failure.is_null())
            run.failure =
                Failure{failure.at("headline"), items_of(failure.at("facts"), fact_of), failure.at("text")};
        return run;
    } catch (const ordered_json::exception&) {
        return std::nullopt;
    }
}

RankLocation own_location(int rank) {
    const auto environment = Environment::of_this_process();
    const auto gpus = environment.get_or("CUDA_VISIBLE_DEVICES", "");
    return {.rank = rank,
            .host = host_name(),
            .gpus = gpus.empty() ? std::vector<std::string>() : split(gpus, ','),
            .cpus = environment.get_or("DTRAIN_RANK_CPUS", CpuSet::of_this_thread().to_string())};
}

std::string location_text(const RankLocation& location) {
    return json_of(location).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::vector<RankLocation> locations_of_texts(const std::vector<std::string>& texts) {
    std::vector<RankLocation> locations;
    std::map<std::string, int> on_host;
    for (const auto& text : texts) {
        auto location = location_of(ordered_json::parse(text));
        location.local_rank = on_host[location.host]++;
        locations.push_back(std::move(location));
    }
    return locations;
}

std::string gpus_text(const RankGpus& gpus) {
    auto json = json_of(gpus);
    json.erase("rank");
    return json.dump();
}

std::optional<RankGpus> gpus_of_text(int rank, std::string_view text) {
    try {
        auto json = ordered_json::parse(text);
        json["rank"] = rank;
        return gpus_of(json);
    } catch (const ordered_json::exception&) {
        return std::nullopt;
    }
}

void thin_out(std::vector<MetricRow>& rows, std::size_t max) {
    for (const auto* event : {"step", "epoch"}) {
        const auto is_one = [&](const MetricRow& row) { return row.event == event; };
        auto count = static_cast<std::size_t>(std::ranges::count_if(rows, is_one));
        for (; count > max; count = (count + 1) / 2) {
            auto left = count;
            std::erase_if(rows, [&](const MetricRow& row) { return is_one(row) && --left % 2 == 1; });
        }
    }
}

}  // namespace dtrain::metrics
