// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/elastic_job.hpp"

#include <memory>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interfaces.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "elastic/job_commands.hpp"
#include "elastic/membership.hpp"
#include "identity/address.hpp"

namespace dtrain::launch {
namespace {

using elastic::Change;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds stop_overhead{7000};   // in addition to --grace: for mpirun and the workers to exit
constexpr seconds first_timeout{30};          // until etcd answers for the first time
constexpr std::size_t max_value = 1'000'000;  // etcd refuses requests above 1.5 MB
constexpr int status_failed_node = 101;       // Paddle's ELASTIC_EXIT_CODE
constexpr int status_failed_range = 3;

/// The result of `action`, which is retried until etcd answers for the first time.
/// @throws UsageError if etcd does not answer in time, or refuses.
template <class Action>
auto first_contact(const Action& action) {
    const auto give_up_at = std::chrono::steady_clock::now() + first_timeout;
    bool has_warned = false;
    for (;;) {
        try {
            return action();
        } catch (const elastic::EtcdRefused& refused) {
            throw UsageError(refused.what());
        } catch (const elastic::EtcdUnavailable& away) {
            if (std::chrono::steady_clock::now() >= give_up_at) throw UsageError(away.what());
            if (!has_warned) log_warning("{}; trying for {} s", away.what(), first_timeout.count());
            has_warned = true;
            std::this_thread::sleep_for(seconds(1));
        }
    }
}

void run_hook(const std::string& command, const Environment& environment) {
    Subprocess shell({.argv = {"/bin/sh", "-c", command}, .environment = environment, .pipe_output = false});
    const auto status = shell.wait();
    if (!status.success())
        log_warning("--elastic_pre_hook ended with {}; starting all the same", status.to_string());
}

std::vector<std::string> addresses_of(const elastic::Start& start) {
    std::vector<std::string> out;
    for (const auto& node : start.nodes) out.push_back(node.address);
    return out;
}

/// Publishes the endpoints for other programs; the job does not depend on it.
void publish_endpoints(elastic::Membership& membership, const elastic::JobKeys& keys,
                       const std::vector<std::string>& endpoints, const std::vector<std::string>& hosts) {
    auto value = join(endpoints, ",") + "|" + join(hosts, ",");
    if (value.size() > max_value) return;
    try {
        membership.write_as_coordinator({Change::put(keys.endpoints(), std::move(value))});
    } catch (const elastic::EtcdError& error) {
        log_warning("the job's endpoints are not published: {}", error.what());
    }
}

/// Handles a signal that asks this node alone to leave: the other nodes see it at once, and the coordinator
/// ends the ranks here.
class NodeDeparture {
  public:
    NodeDeparture(elastic::Membership& membership, milliseconds timeout)
        : membership_(membership), timeout_(timeout) {}

    void begin(int signal) {
        signal_ = signal;
        give_up_at_ = Clock::now() + timeout_;
        membership_.leave();
    }
    int signal() const { return signal_; }
    /// Whether the coordinator's time to end the ranks here is over.
    bool is_over() const { return signal_ != 0 && Clock::now() >= give_up_at_; }

  private:
    using Clock = std::chrono::steady_clock;

    elastic::Membership& membership_;
    milliseconds timeout_;
    int signal_ = 0;
    Clock::time_point give_up_at_;
};

class ElasticJob {
  public:
    ElasticJob(const ElasticSettings& settings, const Options& options, elastic::Membership& membership,
               const StartAsCoordinator& run, const FollowStart& follow)
        : settings_(settings), options_(options), membership_(membership), run_(run), follow_(follow) {}

    elastic::StartEnd drive(const elastic::Start& start, const elastic::StopTimer& stop,
                            const std::function<std::string()>& why_stopped) const {
        const auto addresses = addresses_of(start);
        const auto own = membership_.seen().own_name;
        const auto* node = find(start, own);
        const auto end = run_({.options = options_of_start(options_, addresses, node->address),
                               .run = start.run,
                               .restarts = static_cast<int>(start.number - 1),
                               .stop = &stop,
                               .why_stopped = why_stopped,
                               .publish = [&](const std::vector<std::string>& endpoints) {
                                   publish_endpoints(membership_, settings_.keys, endpoints, addresses);
                               }});
        elastic::StartEnd out{
            .status = end.status, .stopped_by = end.stopped_by, .ordered = end.commanded_to_stop};
        for (const auto number : end.lost_nodes) out.lost.push_back(start.nodes.at(number).name);
        for (const auto number : end.absent_nodes)
            out.absent.push_back(start.nodes.at(static_cast<std::size_t>(number)).name);
        return out;
    }

    /// If this node cannot follow the coordinator, the coordinator must reach it by ssh.
    elastic::StartEnd follow(const elastic::Start& start, const std::string& own_name) const {
        const auto* node = find(start, own_name);
        log_info("node {} of {}: {} drives the job", node - start.nodes.data(), start.nodes.size(),
                 start.coordinator);
        NodeDeparture farewell(membership_, options_.grace + stop_overhead);
        const Leaving leaving{
            .must_leave =
                [&] { return farewell.is_over() || is_waiting(stop_signals_and()) || is_past(start); },
            .on_signal = [&](int signal) { farewell.begin(signal); }};
        try {
            const auto followed =
                follow_(options_of_start(options_, addresses_of(start), node->address), leaving);
            if (!followed.text.empty()) log_warning("{}", followed.text);
        } catch (const UsageError& error) {
            log_warning("{}; {} has to reach this node by ssh", error.what(), start.coordinator);
        }
        return {.stopped_by = farewell.signal()};
    }

  private:
    /// Whether the start is over for this node: the job has another coordinator or another start.
    bool is_past(const elastic::Start& start) const {
        const auto seen = membership_.seen();
        return !seen.unavailable_since &&
               (seen.view.start != start || seen.view.coordinator != start.coordinator);
    }

    static const elastic::Node* find(const elastic::Start& start, const std::string& name) {
        if (const auto* node = start.node(name)) return node;
        throw Error(fmt::format("{} is no node of start {}", name, start.number));
    }

    const ElasticSettings& settings_;
    const Options& options_;
    elastic::Membership& membership_;
    const StartAsCoordinator& run_;
    const FollowStart& follow_;
};

}  // namespace

std::string own_address(const ElasticSettings& settings, const Options& options) {
    if (options.host) return *options.host;
    const auto& endpoint = settings.access.endpoints.front();
    const auto host = cluster::parse_address(endpoint.substr(endpoint.find("://") + 3)).host;
    if (auto address = own_address_towards(host)) return *address;
    throw UsageError(
        fmt::format("there is no way from here to {}; is the name right? --host ADDRESS tells this "
                    "node's own address",
                    endpoint));
}

int run_elastic_job(const ElasticSettings& settings, const Options& options, const Environment& environment,
                    const OwnPart& own, const StartAsCoordinator& run, const FollowStart& follow) {
    const auto& keys = settings.keys;
    auto job = first_contact([&] {
        elastic::EtcdClient client(settings.access);
        auto opened = elastic::open_job(client, keys, settings.policy.wanted, options.force);
        if (!opened.ended && options.scale && *options.scale != "0")
            opened.wanted = elastic::scale_job(client, keys, *options.scale);
        return opened;
    });
    if (job.notice) log_warning("{}", *job.notice);
    if (job.ended) {
        log_info("job {} is completed already; --force runs it again", keys.job_id());
        return *job.ended;
    }
    const auto membership = first_contact([&] {
        return std::make_unique<elastic::Membership>(elastic::MembershipOptions{
            .access = settings.access,
            .keys = keys,
            .self = {.address = own_address(settings, options),
                     .host = host_name(),
                     .processes = own.processes,
                     .gpus = own.gpus,
                     .version = version},
            .one_per_address = true,
            .lease_seconds = static_cast<int>(std::chrono::ceil<seconds>(options.elastic_ttl).count()),
            .time_to_stop = options.grace + stop_overhead});
    });

    elastic::ElasticOptions elastic{.policy = settings.policy, .max_failures = settings.max_failures};
    if (settings.paddles_statuses) {
        const bool range = settings.policy.wanted.is_range();
        elastic.failure_is_the_nodes = !range;
        elastic.failed_status = [range](int) { return range ? status_failed_range : status_failed_node; };
    }
    if (options.elastic_pre_hook)
        elastic.before_start = [&] { run_hook(*options.elastic_pre_hook, environment); };
    const ElasticJob this_job(settings, options, *membership, run, follow);
    return elastic::run_elastic(
        *membership, keys, elastic,
        {.coordinator = [&](const auto& start, const auto& stop,
                            const auto& why) { return this_job.drive(start, stop, why); },
         .agent = [&](const auto& start, const auto& own_name,
                      const auto&) { return this_job.follow(start, own_name); }});
}

int run_elastic_command(const ElasticCommand& command, const Options& options) {
    using What = ElasticCommand::What;
    first_contact([&] {
        elastic::EtcdClient client(command.access);
        switch (command.what) {
            case What::scale:
                elastic::scale_job(client, command.keys, options.scale.value());
                break;
            case What::resize:
                elastic::resize_job(client, command.keys, elastic::parse_node_count("--np", options.np));
                break;
            case What::clean:
                elastic::clean_job(client, command.keys, options.force);
                break;
        }
        return 0;
    });
    const auto name = command.what == What::clean ? "clean" : "scale";
    write_all(STDOUT_FILENO, fmt::format("action {} done\n", name));
    return 0;
}

}  // namespace dtrain::launch
