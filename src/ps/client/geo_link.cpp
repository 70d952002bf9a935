// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/geo_link.hpp"

#include <algorithm>
#include <utility>

#include "ps/client/batch_ids.hpp"

namespace dtrain::ps {

using kernels::kernel_of;

GeoLink::GeoLink(ParameterParts parts, std::vector<LocalRows> tables, int trainers, Client& client)
    : parts_(std::move(parts)), fraction_(1.0F / static_cast<float>(trainers)), client_(&client) {
    for (auto& rows : tables) {
        if (trainers == 1) rows.keep_all();
        tables_.push_back({std::move(rows)});
    }
    for (int server = 0; server < client.servers(); ++server) known_.emplace_back(client.dense_size(server));
}

std::unique_ptr<kernels::Kernel> GeoLink::make_kernel(const Operator& op,
                                                      const kernels::KernelArguments& arguments,
                                                      const program::CopiedTensors& copied) {
    if (op.type == "pull_rows") return make_pull(op, arguments);
    if (op.type == "push_rows") return make_push(op, arguments);
    if (op.type == "update_rows") return make_update(arguments);
    if (op.type == "exchange_changes") return make_exchange(op, arguments, copied);
    throw ProgramError(
        fmt::format("operator {} is of a program that was not transpiled with geo_sgd_mode", op.type),
        op.type, "");
}

LocalRows::Rows GeoLink::rows_to_read(std::uint32_t table, std::span<const std::int64_t> ids) {
    auto& [local, asked, changed] = tables_[table];
    const auto rows = local.find(ids);
    ask_early({{table, local.ask(rows)}});
    for (const auto& rows_asked : asked) take(rows_asked);
    asked.clear();
    return rows;
}

std::vector<GeoLink::Asked> GeoLink::ask(std::vector<Missing> missing) {
    std::erase_if(missing, [](const Missing& of_table) { return of_table.rows.empty(); });
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<WantedRows> wanted;
    for (const auto& [table, rows] : missing)
        wanted.push_back({table, ids.emplace_back(LocalRows::ids_of(rows))});
    auto requests = client_->ask_rows(wanted);
    std::vector<Asked> asked;
    for (std::size_t i = 0; i < missing.size(); ++i)
        asked.push_back({std::move(missing[i].rows), std::move(requests[i])});
    return asked;
}

void GeoLink::ask_early(std::vector<Missing> missing) {
    for (auto& asked : ask(std::move(missing)))
        tables_[asked.request.table].asked.push_back(std::move(asked));
}

void GeoLink::take(const Asked& asked) {
    const auto table = asked.request.table;
    taken_.resize(asked.rows.size() * client_->width(table));
    client_->take_rows(asked.request, taken_);
    tables_[table].rows.renew(asked.rows, taken_);
}

void GeoLink::prefetch(std::span<const Lookup> lookups) {
    // Look up all tables first: an unknown table throws, and no rows may be marked as requested then.
    std::vector<Missing> missing;
    for (const auto& lookup : lookups) missing.push_back({parts_.table_number(lookup.table), {}});
    for (std::size_t i = 0; i < missing.size(); ++i) {
        auto& rows = tables_[missing[i].table].rows;
        missing[i].rows = rows.ask(rows.find(lookups[i].ids));
    }
    ask_early(std::move(missing));
}

std::unique_ptr<kernels::Kernel> GeoLink::make_pull(const Operator& op,
                                                    const kernels::KernelArguments& arguments) {
    return kernel_of([this, table = parts_.table_number(arguments.text("table")), out = arguments.out("out"),
                      width = static_cast<std::size_t>(arguments.whole("width")),
                      is_test = arguments.whole("is_test") != 0, found = std::vector<float>(),
                      batch = BatchIds(kernels::Integers(arguments.input("ids")), arguments.whole("padding"),
                                       arguments.whole("rows"), op.input("ids"))]() mutable {
        batch.read();
        if (!batch.is_whole()) found.resize(batch.ids().size() * width);
        const auto to = batch.is_whole() ? out : std::span(found);
        if (is_test)
            client_->pull_rows({table, batch.ids(), true}, to);
        else
            tables_[table].rows.read(rows_to_read(table, batch.ids()), to);
        if (!batch.is_whole()) batch.spread(found, out);
    });
}

std::unique_ptr<kernels::Kernel> GeoLink::make_push(const Operator& op,
                                                    const kernels::KernelArguments& arguments) {
    const auto values = arguments.in("gradient");
    const auto ids = kernels::Integers(arguments.input("ids"));
    return kernel_of([this, table = parts_.table_number(arguments.text("table")), values,
                      gradients = std::vector<float>(),
                      batch = BatchIds(ids, arguments.whole("padding"), -1, op.input("ids"))]() mutable {
        batch.read();
        auto& rows = tables_[table].rows;
        rows.add_gradients(rows.find(batch.ids()),
                           batch.is_whole() ? values : batch.gathered(values, gradients));
    });
}

std::unique_ptr<kernels::Kernel> GeoLink::make_update(const kernels::KernelArguments& arguments) {
    const auto scheduled =
        arguments.has_input("learning_rate") ? arguments.in("learning_rate") : std::span<const float>();
    return kernel_of([this, table = parts_.table_number(arguments.text("table")), scheduled] {
        auto& rows = tables_[table].rows;
        rows.update(scheduled.empty() ? rows.learning_rate() : static_cast<double>(scheduled[0]), step_ + 1);
    });
}

std::unique_ptr<kernels::Kernel> GeoLink::make_exchange(const Operator& op,
                                                        const kernels::KernelArguments& arguments,
                                                        const program::CopiedTensors& copied) {
    copied_ = copied;
    parameters_.clear();
    const auto tensors = arguments.outputs_of("parameter");
    for (std::size_t i = 0; i < tensors.size(); ++i)
        parameters_.push_back({tensors[i].as<float>(), parts_.of(op.outputs[i].variable)});
    return kernel_of([this, every = arguments.whole("every")] { end_step(every); });
}

void GeoLink::end_step(std::int64_t every) {
    ++step_;
    ++unsent_steps_;
    const bool is_due = unsent_steps_ >= every;
    const bool takes = waits_for_answers_ && (is_due || have_answers_come());
    if (takes || is_due) copied_.bring();
    if (takes) take_answers();
    if (is_due) send_changes();
}

bool GeoLink::have_answers_come() const {
    return client_->has_dense_come() && std::ranges::all_of(tables_, [&](const Table& table) {
               return !table.changed || client_->have_rows_come(table.changed->request);
           });
}

void GeoLink::send_changes() {
    for (const auto& [values, parts] : parameters_)
        for (const auto& part : parts) {
            const auto own = values.subspan(part.in_variable, part.count);
            const auto known =
                std::span(known_[static_cast<std::size_t>(part.server)]).subspan(part.on_server, part.count);
            changes_.resize(part.count);
            for (std::size_t i = 0; i < own.size(); ++i) changes_[i] = fraction_ * (known[i] - own[i]);
            std::ranges::copy(own, known.begin());
            client_->push_dense(part.server, part.on_server, changes_);
        }
    std::vector<Missing> changed;
    for (std::uint32_t table = 0; table < tables_.size(); ++table) {
        changed.push_back({table, tables_[table].rows.take_changes(fraction_, changes_)});
        client_->push_rows(table, LocalRows::ids_of(changed.back().rows), changes_, true);
    }
    client_->end_step();
    for (auto& asked : ask(std::move(changed))) tables_[asked.request.table].changed = std::move(asked);
    unsent_steps_ = 0;
    waits_for_answers_ = true;
}

void GeoLink::take_answers() {
    // First: a server may refuse the rows, and the trainer then leaves, which takes no answer twice.
    waits_for_answers_ = false;
    for (const auto& parameter : parameters_) renew(parameter);
    client_->drop_dense_values();
    for (auto& table : tables_)
        if (const auto changed = std::exchange(table.changed, std::nullopt)) take(*changed);
}

void GeoLink::renew(const Parameter& parameter) {
    for (const auto& part : parameter.parts) {
        const auto from = client_->dense_values(part.server);
        auto& known = known_[static_cast<std::size_t>(part.server)];
        for (std::size_t i = 0; i < part.count; ++i) {
            const auto value = from[part.on_server + i];
            parameter.values[part.in_variable + i] += value - known[part.on_server + i];
            known[part.on_server + i] = value;
        }
    }
}

void GeoLink::pull_parameters(const State& state) {
    copied_.bring();
    if (waits_for_answers_) take_answers();
    client_->pull_dense();
    for (const auto& [name, parts] : parts_.all()) {
        const auto* const tensor = state.find(name);
        if (tensor == nullptr) continue;
        const auto values = tensor->view.as<float>();
        for (const auto& part : parts) {
            const auto from = client_->dense_values(part.server).subspan(part.on_server, part.count);
            auto& known = known_[static_cast<std::size_t>(part.server)];
            std::ranges::copy(from, values.begin() + static_cast<std::ptrdiff_t>(part.in_variable));
            std::ranges::copy(from, known.begin() + static_cast<std::ptrdiff_t>(part.on_server));
        }
    }
    client_->drop_dense_values();
    for (auto& table : tables_) table.rows.clear_requested();
}

void GeoLink::finish() {
    copied_.bring();
    if (waits_for_answers_) take_answers();
    if (unsent_steps_ > 0) send_changes();
    if (waits_for_answers_) take_answers();
    client_->flush();
}

}  // namespace dtrain::ps
