// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/executor_link.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "kernels/integers.hpp"

namespace dtrain::ps {
namespace {

using kernels::kernel_of;

/// The ids of a batch that have rows: all but padding, checked.
class BatchIds {
  public:
    BatchIds(kernels::Integers ids, std::int64_t padding, std::int64_t rows, std::string variable)
        : ids_(ids), padding_(padding), rows_(rows), variable_(std::move(variable)) {}

    /// Looks at the batch. @throws Error when an id is outside
    void read() {
        found_.clear();
        places_.clear();
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            const auto id = ids_[i];
            if (is_padding(id)) continue;
            if (rows_ >= 0 && (id < 0 || id >= rows_))
                throw Error(fmt::format("'{}' has the id {}, and the table has rows 0 to {}", variable_, id,
                                        rows_ - 1));
            found_.push_back(id);
            places_.push_back(i);
        }
    }

    std::span<const std::int64_t> ids() const { return found_; }
    /// In the batch, of each of ids().
    std::span<const std::size_t> places() const { return places_; }
    bool is_whole() const { return found_.size() == ids_.size(); }

  private:
    bool is_padding(std::int64_t id) const { return padding_ >= 0 && id == padding_; }

    kernels::Integers ids_;
    std::int64_t padding_;
    std::int64_t rows_;
    std::string variable_;
    std::vector<std::int64_t> found_;
    std::vector<std::size_t> places_;
};

}  // namespace

ExecutorLink::ExecutorLink(const std::vector<DistributeTranspiler::Placement>& placements,
                           std::vector<std::string> tables, Client& client)
    : tables_(std::move(tables)), client_(&client) {
    std::vector<std::size_t> lengths(static_cast<std::size_t>(client.servers()));
    for (const auto& [block, server] : placements) {
        const auto count = static_cast<std::size_t>(element_count(block.shape));
        parts_[block.variable].push_back({static_cast<std::size_t>(block.first_element()), count,
                                          static_cast<int>(server), lengths[server]});
        lengths[server] += count;
    }
}

const std::vector<ExecutorLink::Part>& ExecutorLink::parts_of(const std::string& variable) const {
    const auto found = parts_.find(variable);
    if (found == parts_.end())
        throw ProgramError(fmt::format("the servers have no parameter '{}'", variable), "recv", variable);
    return found->second;
}

std::uint32_t ExecutorLink::table_number(const std::string& name) const {
    const auto found = std::ranges::find(tables_, name);
    if (found == tables_.end())
        throw ProgramError(fmt::format("the servers have no table '{}'", name), "", name);
    return static_cast<std::uint32_t>(found - tables_.begin());
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_kernel(const Operator& op,
                                                           const kernels::KernelArguments& arguments) {
    if (op.type == "send") return make_send(op, arguments);
    if (op.type == "recv") return make_recv(op, arguments);
    if (op.type == "pull_rows") return make_pull(op, arguments);
    if (op.type == "push_rows") return make_push(op, arguments);
    if (op.type == "send_barrier") return kernel_of([client = client_] { client->end_step(); });
    return kernel_of([client = client_] { client->drop_dense_values(); });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_send(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    const auto& gradient = op.input("gradient");
    // The gradient of NAME is NAME@grad.
    const auto parameter = std::ranges::find_if(
        parts_, [&](const auto& known) { return gradient_name(known.first) == gradient; });
    if (parameter == parts_.end())
        throw ProgramError(fmt::format("the servers have no parameter of the gradient '{}'", gradient),
                           "send", gradient);
    return kernel_of([client = client_, values = arguments.in("gradient"), parts = parameter->second] {
        for (const auto& part : parts)
            client->push_dense(part.server, part.on_server, values.subspan(part.in_variable, part.count));
    });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_recv(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    return kernel_of([this, values = arguments.out("parameter"), parts = parts_of(op.input("parameter"))] {
        receive(values, parts);
    });
}

void ExecutorLink::receive(std::span<float> values, const std::vector<Part>& parts) {
    for (const auto& part : parts) {
        const auto from = client_->dense_values(part.server);
        if (!from.empty()) std::copy_n(&from[part.on_server], part.count, &values[part.in_variable]);
    }
}

void ExecutorLink::pull_parameters(const State& state) {
    client_->pull_dense();
    for (const auto& [name, parts] : parts_)
        if (const auto* tensor = state.find(name)) receive(tensor->view.as<float>(), parts);
    client_->drop_dense_values();
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_pull(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    return kernel_of([client = client_, table = table_number(arguments.text("table")),
                      out = arguments.out("out"), width = static_cast<std::size_t>(arguments.whole("width")),
                      peeks = arguments.whole("is_test") != 0, rows = std::vector<float>(),
                      batch = BatchIds(kernels::Integers(arguments.input("ids")), arguments.whole("padding"),
                                       arguments.whole("rows"), op.input("ids"))]() mutable {
        batch.read();
        if (batch.is_whole()) return client->pull_rows(table, batch.ids(), out, peeks);
        rows.resize(batch.ids().size() * width);
        client->pull_rows(table, batch.ids(), rows, peeks);
        std::ranges::fill(out, 0.0F);
        for (std::size_t i = 0; i < batch.places().size(); ++i)
            std::copy_n(&rows[i * width], width, &out[batch.places()[i] * width]);
    });
}

std::unique_ptr<kernels::Kernel> ExecutorLink::make_push(const Operator& op,
                                                         const kernels::KernelArguments& arguments) {
    const auto values = arguments.in("gradient");
    const auto ids = kernels::Integers(arguments.input("ids"));
    return kernel_of([client = client_, table = table_number(arguments.text("table")), values,
                      width = values.size() / ids.size(), last = arguments.whole("last") != 0,
                      gradients = std::vector<float>(),
                      batch = BatchIds(ids, arguments.whole("padding"), -1, op.input("ids"))]() mutable {
        batch.read();
        if (batch.is_whole()) return client->push_rows(table, batch.ids(), values, last);
        gradients.resize(batch.ids().size() * width);
        for (std::size_t i = 0; i < batch.places().size(); ++i)
            std::copy_n(&values[batch.places()[i] * width], width, &gradients[i * width]);
        client->push_rows(table, batch.ids(), gradients, last);
    });
}

}  // namespace dtrain::ps
