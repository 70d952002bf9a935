// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/row_limits.hpp"

namespace dtrain::ps {
namespace {

bool has_sizes(MessageKind kind) {
    return kind == MessageKind::accept || kind == MessageKind::values || kind == MessageKind::applied ||
           kind == MessageKind::sized;
}

}  // namespace

void RowLimits::note(int server, MessageReader answer) {
    if (!are_any() || !has_sizes(answer.header().kind)) return;
    while (const auto section = answer.next())
        if (section->table != dense_parameters)
            sizes_.note(static_cast<std::size_t>(server), section->table, section->first);
}

void RowLimits::throw_refusal() {
    if (refusal_) throw ServerError(*std::exchange(refusal_, std::nullopt));
}

bool RowLimits::is_unreported() {
    if (!is_passed()) is_reported_ = false;
    return is_passed() && !is_reported_;
}

void RowLimits::report() {
    is_reported_ = true;
    sizes_.check();
}

}  // namespace dtrain::ps
