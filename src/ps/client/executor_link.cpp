// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/executor_link.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "ps/client/batch_ids.hpp"

namespace dtrain::ps {
namespace {

using kernels::kernel_of;

}  // namespace

ExecutorLink::ExecutorLink(ParameterParts parts, Client& client)
    : parts_(std::move(parts)), client_(&client), fed_(std::make_shared<PullGroup>(client)) {}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_kernel(const Operator& op,
                                                           const kernels::KernelArguments& arguments,
                                                           const program::CopiedTensors& copied) {
    if (op.type == "send") return make_send(op, arguments);
    if (op.type == "recv") return make_recv(op, arguments, copied);
    if (op.type == "pull_rows") return make_pull(op, arguments);
    if (op.type == "push_rows") return make_push(op, arguments);
    if (op.type == "send_barrier") return kernel_of([client = client_] { client->end_step(); });
    return kernel_of([client = client_] { client->drop_dense_values(); });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_send(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    const auto& gradient = op.input("gradient");
    // The gradient of NAME is called NAME@grad.
    const auto parameter = std::ranges::find_if(
        parts_.all(), [&](const auto& known) { return gradient_name(known.first) == gradient; });
    if (parameter == parts_.all().end())
        throw ProgramError(fmt::format("the servers have no parameter of the gradient '{}'", gradient),
                           "send", gradient);
    return kernel_of([client = client_, values = arguments.in("gradient"), parts = parameter->second] {
        for (const auto& part : parts)
            client->push_dense(part.server, part.on_server, values.subspan(part.in_variable, part.count));
    });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_recv(const Operator& op,
                                                         const kernels::KernelArguments& arguments,
                                                         const program::CopiedTensors& copied) {
    return kernel_of([this, values = arguments.out("parameter"), parts = parts_.of(op.input("parameter")),
                      copied] { receive(values, parts, copied); });
}

void ExecutorLink::receive(std::span<float> values, const ParameterParts::Parts& parts,
                           const program::CopiedTensors& copied) {
    for (const auto& part : parts) {
        const auto from = client_->dense_values(part.server);
        if (from.empty()) continue;
        const auto to = values.subspan(part.in_variable, part.count);
        std::copy_n(&from[part.on_server], part.count, to.begin());
        copied.written(to);
    }
}

void ExecutorLink::pull_parameters(const State& state) {
    client_->pull_dense();
    for (const auto& [name, parts] : parts_.all())
        if (const auto* tensor = state.find(name)) receive(tensor->view.as<float>(), parts, {});
    client_->drop_dense_values();
}

void ExecutorLink::prefetch(std::span<const Lookup> lookups) {
    std::vector<WantedRows> wanted;
    for (const auto& [table, ids] : lookups) wanted.push_back({parts_.table_number(table), ids});
    client_->prefetch_rows(wanted);
}

void ExecutorLink::begin_program() {
    fed_ = std::make_shared<PullGroup>(*client_);
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_pull(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    const auto group = arguments.whole("fed") != 0 ? fed_ : std::make_shared<PullGroup>(*client_);
    const auto member =
        group->add(parts_.table_number(arguments.text("table")),
                   BatchIds(kernels::Integers(arguments.input("ids")), arguments.whole("padding"),
                            arguments.whole("rows"), op.input("ids")),
                   arguments.whole("is_test") != 0);
    return kernel_of([group, member, out = arguments.out("out")] { group->take(member, out); });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_push(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    const auto values = arguments.in("gradient");
    const auto ids = kernels::Integers(arguments.input("ids"));
    const auto clicks = arguments.has_input("click") ? arguments.in("click") : std::span<const float>();
    return kernel_of([client = client_, table = parts_.table_number(arguments.text("table")), values,
                      last = arguments.whole("last") != 0, clicks,
                      ids_of_click = clicks.empty() ? 1 : ids.size() / clicks.size(),
                      gradients = std::vector<float>(), clicked = std::vector<float>(),
                      batch = BatchIds(ids, arguments.whole("padding"), -1, op.input("ids"))]() mutable {
        batch.read();
        clicked.clear();
        if (!clicks.empty())
            for (const auto position : batch.positions()) clicked.push_back(clicks[position / ids_of_click]);
        if (batch.is_whole()) return client->push_rows(table, batch.ids(), values, last, clicked);
        client->push_rows(table, batch.ids(), batch.gathered(values, gradients), last, clicked);
    });
}

}  // namespace dtrain::ps
