// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/table_options.hpp"

#include <limits>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "kernels/functors/optimizer_info.hpp"

namespace dtrain::ps {
namespace {

constexpr std::string_view what_to_do =
    "use a larger one (dict_size of [model] in a job file, the rows of embedding() in C++), or admission and "
    "shrink() against ids that come once";

class Check {
  public:
    explicit Check(const std::string& table) : table_(table) {}

    void range(std::string_view option, double value, double min, double max) const {
        if (!(value >= min && value <= max))
            throw UsageError(
                fmt::format("table '{}': {} is {}, expected {} to {}", table_, option, value, min, max));
    }

    /// Checks for a finite number that is at least `min`.
    void at_least(std::string_view option, double value, double min) const {
        if (!(value >= min && value <= std::numeric_limits<float>::max()))
            throw UsageError(
                fmt::format("table '{}': {} is {}, expected at least {}", table_, option, value, min));
    }

    void setting(std::string_view option, double value, kernels::Limits limits) const {
        if (limits == kernels::Limits::fraction)
            range(option, value, 0, below_one);
        else
            at_least(option, value, limits == kernels::Limits::positive ? above_zero : 0);
    }

    void optimizer(const Optimizer& optimizer) const {
        kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& given) {
            setting("learning_rate", given.learning_rate, Rule::limits_of_rate);
            kernels::for_each_setting<Rule>([&](const auto& each) {
                if (each.number != nullptr) setting(each.name, given.*each.number, each.limits);
            });
        });
    }

    void operator()(NoDecay /*decay*/) const {}
    void operator()(const L1Decay& decay) const { at_least("regularisation", decay.coefficient, 0); }
    void operator()(const L2Decay& decay) const { at_least("regularisation", decay.coefficient, 0); }

    void operator()(AdmitAll /*admission*/) const {}

    void operator()(const AdmitByCount& admission) const {
        range("the admission's count", admission.count, 1, 255);
        if (admission.counters == 0 || admission.counters % 64 != 0)
            throw UsageError(
                fmt::format("table '{}': the admission's counters are {}, expected a multiple of 64", table_,
                            admission.counters));
    }

    void operator()(const AdmitByProbability& admission) const {
        range("the admission's probability", admission.probability, 0, 1);
    }

    void operator()(const RowStatistics& statistics) const {
        range("decay", statistics.decay, 0, 1);
        at_least("show_coefficient", statistics.show_coefficient, 0);
        at_least("click_coefficient", statistics.click_coefficient, 0);
        at_least("most_unseen_days", static_cast<double>(statistics.most_unseen_days), 0);
    }

  private:
    static constexpr double above_zero = 1e-30;
    static constexpr double below_one = 1 - 1e-12;

    const std::string& table_;
};

}  // namespace

void check(const TableOptions& options) {
    constexpr std::size_t max_width = std::size_t{1} << 20U;
    const Check check(options.name);
    check.range("width", static_cast<double>(options.width), 1, static_cast<double>(max_width));
    check.optimizer(options.optimizer);
    std::visit(check, options.regularisation);
    std::visit(check, options.admission);
    if (options.statistics) check(*options.statistics);
}

DictSizeError::DictSizeError(const std::string& table, std::uint64_t dict_size, std::int64_t id)
    : Error(fmt::format("table '{}' has rows for {} distinct ids, which is its dict_size, and none for id "
                        "{}: {}",
                        table, dict_size, id, what_to_do)),
      table_(table),
      dict_size_(dict_size),
      id_(id) {}

DictSizeError::DictSizeError(const std::string& table, std::uint64_t dict_size, RowCount present)
    : Error(
          fmt::format("table '{}' has rows for {} distinct ids on all servers together, and its dict_size is "
                      "{}: {}",
                      table, present.rows, dict_size, what_to_do)),
      table_(table),
      dict_size_(dict_size) {}

}  // namespace dtrain::ps
