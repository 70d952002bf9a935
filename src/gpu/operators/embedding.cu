// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.hpp"
#include "gpu/operators/row_lists.hpp"
#include "kernels/data_errors.hpp"

namespace dtrain::gpu {
namespace {

template <class Real>
struct LookUp {
    Integers ids;
    const Real* table;
    Real* out;
    std::int64_t rows;
    std::size_t width;
    std::int64_t padding;
    DeviceError error;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto [position, column] = position_of(i, width);
        const auto id = ids[position];
        const bool is_padding = padding >= 0 && id == padding;
        const bool is_inside = id >= 0 && id < rows;
        out[i] = is_inside && !is_padding ? table[static_cast<std::size_t>(id) * width + column] : Real(0);
        if (column == 0 && !is_inside && !is_padding) error.report(static_cast<long long>(position), id);
    }
};

template <class Real>
std::unique_ptr<Kernel> make_embedding(KernelContext& context, const KernelArguments& arguments) {
    const auto& shape = arguments.input("weight").shape;
    const auto out = arguments.out<Real>("out");
    return kernel_for_each(
        context, out.size(),
        LookUp<Real>{Integers(arguments.input("ids")), arguments.in<Real>("weight").data(), out.data(),
                     shape[0], static_cast<std::size_t>(shape[1]), arguments.whole("padding"),
                     context.error_of([rows = shape[0]](long long position, long long id) {
                         return kernels::id_outside(id, position, rows);
                     })});
}

/// Adds the sum for each distinct row to that row of the table.
template <class Real>
struct AddToTable {
    RowSums<Real> sums;
    std::int64_t rows;
    Real* table;

    template <class Team>
    ON_GPU void operator()(std::size_t number, const Team& team) const {
        if (number >= *sums.different_rows) return;
        const auto begin = sums.begins[number];
        const auto row = sums.positions[begin].row;
        if (row < 0 || row >= rows) return;  // already reported by embedding
        for (std::size_t i = team.thread(); i < sums.width; i += team.threads())
            table[static_cast<std::size_t>(row) * sums.width + i] = sums.sum(begin, i);
    }
};

template <class Real>
RowLists<Real> gradients_of(KernelContext& context, const KernelArguments& arguments) {
    const auto& ids = arguments.input("ids");
    const auto dout = arguments.in<Real>("out@grad");
    return {context,
            {{Integers(ids), dout.data(), ids.size()}},
            arguments.whole("padding"),
            dout.size() / ids.size()};
}

template <class Real>
std::unique_ptr<Kernel> make_embedding_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto& table = arguments.output("weight@grad");
    return kernels::kernel_of(
        [&stream = context.stream, table, lists = gradients_of<Real>(context, arguments)] {
            set_to_zero(stream, table.data, table.bytes());
            lists.run(stream);
            const auto sums = lists.sums();
            for_each_row(stream, lists.count(), sums.width,
                         AddToTable<Real>{sums, table.shape[0], static_cast<Real*>(table.data)});
        });
}

/// Writes the list of distinct rows, padded with -1 and zeros.
template <class Real>
struct MakeList {
    RowSums<Real> sums;
    std::int64_t* rows;
    Real* values;

    template <class Team>
    ON_GPU void operator()(std::size_t number, const Team& team) const {
        const bool is_row = number < *sums.different_rows;
        const auto begin = is_row ? sums.begins[number] : 0;
        for (std::size_t i = team.thread(); i < sums.width; i += team.threads())
            values[number * sums.width + i] = is_row ? sums.sum(begin, i) : Real(0);
        if (team.thread() == 0) rows[number] = is_row ? sums.positions[begin].row : -1;
    }
};

template <class Real>
std::unique_ptr<Kernel> kernel_of_lists(KernelContext& context, const KernelArguments& arguments,
                                        std::string_view values, RowLists<Real> lists) {
    return kernels::kernel_of([&stream = context.stream, lists = std::move(lists),
                               rows = arguments.out<std::int64_t>("rows"),
                               to = arguments.out<Real>(values).data()] {
        lists.run(stream);
        const auto sums = lists.sums();
        for_each_row(stream, rows.size(), sums.width, MakeList<Real>{sums, rows.data(), to});
    });
}

template <class Real>
std::unique_ptr<Kernel> make_embedding_grad_sparse(KernelContext& context, const KernelArguments& arguments) {
    return kernel_of_lists<Real>(context, arguments, "weight@grad", gradients_of<Real>(context, arguments));
}

template <class Real>
std::unique_ptr<Kernel> make_merge_rows(KernelContext& context, const KernelArguments& arguments) {
    const auto rows = arguments.inputs_of("rows");
    const auto values = arguments.inputs_of("x");
    std::vector<RowList<Real>> lists;
    for (std::size_t i = 0; i < rows.size(); ++i)
        lists.push_back({Integers(rows[i]), values[i].template as<Real>().data(), rows[i].size()});
    const auto width = static_cast<std::size_t>(arguments.output("out").shape.back());
    return kernel_of_lists<Real>(context, arguments, "out", RowLists<Real>(context, lists, -1, width));
}

}  // namespace

Entries embedding_kernels() {
    return {
        {"embedding", by_type<make_embedding<float>, make_embedding<double>>},
        {"embedding_grad", by_type<make_embedding_grad<float>, make_embedding_grad<double>>},
        {"embedding_grad_sparse",
         by_type<make_embedding_grad_sparse<float>, make_embedding_grad_sparse<double>>},
        {"merge_rows", by_type<make_merge_rows<float>, make_merge_rows<double>>},
    };
}

}  // namespace dtrain::gpu
