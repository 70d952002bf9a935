// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_rows.hpp"

#include <fmt/format.h>

namespace dtrain::native {
namespace {

constexpr Range up_to_one{0, 1 + 1e-12, "a number from 0 to 1"};
constexpr std::int64_t counters_in_a_line = 64;
constexpr std::int64_t max_counters = std::int64_t{1} << 40;

Admission read_admission(const Section& rows) {
    if (rows.has("admit_count") && rows.has("admit_probability"))
        rows.fail("admit_probability", "'admit_count' and 'admit_probability' exclude each other");
    if (rows.has("admit_counters") && !rows.has("admit_count"))
        rows.fail("admit_counters", "'admit_counters' needs 'admit_count'");
    if (rows.has("admit_probability"))
        return AdmitByProbability{rows.number("admit_probability", 1, up_to_one)};
    if (!rows.has("admit_count")) return AdmitAll{};
    AdmitByCount admission;
    admission.count = static_cast<int>(rows.whole("admit_count", 1, 1, 255));
    const auto counters = rows.whole("admit_counters", static_cast<std::int64_t>(admission.counters),
                                     counters_in_a_line, max_counters);
    if (counters % counters_in_a_line != 0)
        rows.fail("admit_counters", fmt::format("'admit_counters' is {}; it must be a multiple of {}",
                                                counters, counters_in_a_line));
    admission.counters = static_cast<std::size_t>(counters);
    return admission;
}

std::optional<RowStatistics> read_statistics(const Section& rows) {
    if (!rows.truth("statistics", false)) {
        for (const char* key :
             {"show_coefficient", "click_coefficient", "decay", "least_score", "most_unseen_epochs"})
            if (rows.has(key)) rows.fail(key, fmt::format("'{}' needs statistics = true", key));
        return std::nullopt;
    }
    RowStatistics read;
    read.show_coefficient = rows.number("show_coefficient", read.show_coefficient, not_negative);
    read.click_coefficient = rows.number("click_coefficient", read.click_coefficient, not_negative);
    read.decay = rows.number("decay", read.decay, up_to_one);
    read.least_score = rows.number("least_score", read.least_score, not_negative);
    read.most_unseen_days = rows.whole("most_unseen_epochs", read.most_unseen_days, 0, max_whole);
    return read;
}

}  // namespace

void read_rows(const Section& servers, ModelKind kind, ServerSettings& settings) {
    const auto rows = servers.section(
        "rows", {"admit_count", "admit_counters", "admit_probability", "statistics", "show_coefficient",
                 "click_coefficient", "decay", "least_score", "most_unseen_epochs", "shrink_every"});
    if (!servers.has("rows")) return;
    if (kind != ModelKind::click_through)
        servers.fail("rows",
                     "[servers.rows] is about the table of ids of [model] kind = \"click_through\", but "
                     "it is \"classifier\"");
    settings.rows = {read_admission(rows), read_statistics(rows)};
    if (settings.rows.statistics && settings.wire != WireType::float32)
        rows.fail("statistics",
                  fmt::format("'statistics' and wire = \"{}\" exclude each other: shows and clicks "
                              "would be rounded",
                              to_string(settings.wire)));
    if (!rows.has("shrink_every")) return;
    if (!settings.rows.statistics && !std::holds_alternative<AdmitByCount>(settings.rows.admission))
        rows.fail("shrink_every", "'shrink_every' needs statistics = true, or 'admit_count'");
    settings.shrink_every = rows.whole("shrink_every", 1, 1, max_whole);
}

}  // namespace dtrain::native
