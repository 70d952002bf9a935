// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/job_commands.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::elastic {
namespace {

JobView view_of(EtcdClient& client, const JobKeys& keys) {
    return job_view(keys, client.get_prefix(keys.state()));
}

[[noreturn]] void refuse_unknown(const JobKeys& keys) {
    throw UsageError(fmt::format("--job_id {}: etcd knows no such job", keys.job_id()));
}

/// A transaction conditional on the state that was seen; false if others changed it first.
bool begin_anew(EtcdClient& client, const JobKeys& keys, const JobView& seen) {
    const auto as_seen =
        seen.state.empty() ? Condition::absent(keys.state()) : Condition::has_value(keys.state(), seen.state);
    return client.transact(
        {as_seen}, {Change::put(keys.state(), std::string(state_running)), Change::erase(keys.start()),
                    Change::erase(keys.outcome()), Change::erase(keys.endpoints())});
}

}  // namespace

OpenedJob open_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted, bool force) {
    auto view = view_of(client, keys);
    if (view.state == state_completed && !force)
        return {.wanted = view.wanted.value_or(wanted), .ended = view.outcome.value_or(0)};
    if (view.state != state_running) begin_anew(client, keys, view);
    if (force)
        client.put(Change::put(keys.wanted(), wanted.to_string()));
    else
        client.transact({Condition::absent(keys.wanted())}, {Change::put(keys.wanted(), wanted.to_string())});
    view = view_of(client, keys);
    OpenedJob out{.wanted = view.wanted.value_or(wanted)};
    if (out.wanted != wanted)
        out.notice = fmt::format("job {} wants {} nodes, not {} as given here; --force changes that",
                                 keys.job_id(), out.wanted.to_string(), wanted.to_string());
    return out;
}

NodeCount scale_job(EtcdClient& client, const JobKeys& keys, std::string_view scale) {
    for (;;) {
        const auto view = view_of(client, keys);
        if (!view.wanted) refuse_unknown(keys);
        const auto wanted = scaled(*view.wanted, scale);
        if (client.transact({Condition::has_value(keys.wanted(), view.wanted->to_string())},
                            {Change::put(keys.wanted(), wanted.to_string())}))
            return wanted;
    }
}

void resize_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted) {
    if (!view_of(client, keys).wanted) refuse_unknown(keys);
    client.put(Change::put(keys.wanted(), wanted.to_string()));
}

void clean_job(EtcdClient& client, const JobKeys& keys, bool force) {
    const auto view = view_of(client, keys);
    if (!view.nodes.empty() && !force)
        throw UsageError(fmt::format("clean: job {} has {} nodes ({}); stop them, or say --force",
                                     keys.job_id(), view.nodes.size(), join(view.names(), ",")));
    client.erase(keys.state());
    client.erase_prefix(keys.below());
}

}  // namespace dtrain::elastic
