// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <dtrain/metrics.hpp>

#include "kernels/cpu/auc.hpp"
#include "program/layers/simple_layer.hpp"

namespace dtrain {

Auc layers::auc(Program& program, const Var& scores, const Var& label, const AucOptions& options) {
    const auto stem = options.name.empty() ? program.unique_name("auc") : options.name;
    Auc names{stem + ".value", stem + ".positives", stem + ".negatives"};
    return layers::extend(program, [&](Program& extended) {
        for (const auto& name : {names.positives, names.negatives})
            extended.add(
                {.name = name, .shape = {options.bins}, .type = DataType::float64, .role = Role::metric});
        Operator op{"auc",
                    {{"scores", scores},
                     {"label", label},
                     {"positives", names.positives},
                     {"negatives", names.negatives}},
                    {{"out", names.value}, {"positives", names.positives}, {"negatives", names.negatives}},
                    {}};
        if (!options.weight.empty()) op.inputs.push_back({"weight", options.weight});
        extended.add({.name = names.value, .shape = {1}});
        extended.append(std::move(op));
        return names;
    });
}

double area_under_curve(std::span<const double> positives, std::span<const double> negatives) {
    return kernels::area_under_curve(positives, negatives);
}

void reset_metrics(const State& state) {
    for (const auto& tensor : state.tensors())
        if (tensor.role == Role::metric)
            std::fill_n(static_cast<std::byte*>(tensor.view.data), tensor.view.bytes(), std::byte{0});
}

}  // namespace dtrain
