// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cpu/row_merger.hpp"
#include "kernels/data_errors.hpp"
#include "kernels/loops/integers.hpp"
#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
std::unique_ptr<Kernel> make_embedding(const KernelArguments& arguments) {
    return kernel_of([ids = Integers(arguments.input("ids")), table = arguments.in<Real>("weight"),
                      out = arguments.out<Real>("out"), rows = arguments.input("weight").shape[0],
                      width = static_cast<std::size_t>(arguments.input("weight").shape[1]),
                      padding = arguments.whole("padding")] {
        constexpr std::size_t ahead = 8;  // prefetch distance: rows are scattered in memory
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto id = ids[i];
            if (padding >= 0 && id == padding) {
                std::fill_n(&out[i * width], width, Real(0));
                continue;
            }
            if (id < 0 || id >= rows) throw Error(id_outside(id, static_cast<std::int64_t>(i), rows));
            if (i + ahead < ids.size())
                __builtin_prefetch(table.data() + static_cast<std::size_t>(ids[i + ahead]) * width);
            std::copy_n(&table[static_cast<std::size_t>(id) * width], width, &out[i * width]);
        }
    });
}

template <class Real>
std::unique_ptr<Kernel> make_embedding_grad(const KernelArguments& arguments) {
    return kernel_of([ids = Integers(arguments.input("ids")), dout = arguments.in<Real>("out@grad"),
                      dtable = arguments.out<Real>("weight@grad"),
                      width = static_cast<std::size_t>(arguments.output("weight@grad").shape[1]),
                      padding = arguments.whole("padding")] {
        std::ranges::fill(dtable, Real(0));
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] != padding)
                loops::add(&dout[i * width], &dtable[static_cast<std::size_t>(ids[i]) * width], width);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_embedding_grad_sparse(const KernelArguments& arguments) {
    return kernel_of(
        [merger =
             RowMerger<Real>(arguments.output("rows").as<std::int64_t>(), arguments.out<Real>("weight@grad")),
         looked_up = RowList<Real>{Integers(arguments.input("ids")), arguments.in<Real>("out@grad")},
         padding = arguments.whole("padding")]() mutable {
            merger.run({&looked_up, 1}, padding);
        });
}

template <class Real>
std::unique_ptr<Kernel> make_merge_rows(const KernelArguments& arguments) {
    const auto rows = arguments.inputs_of("rows");
    const auto values = arguments.inputs_of("x");
    std::vector<RowList<Real>> lists;
    for (std::size_t i = 0; i < rows.size(); ++i) lists.push_back({Integers(rows[i]), values[i].as<Real>()});
    return kernel_of(
        [merger = RowMerger<Real>(arguments.output("rows").as<std::int64_t>(), arguments.out<Real>("out")),
         lists = std::move(lists)]() mutable { merger.run(lists, no_row); });
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

}  // namespace dtrain::kernels
