// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/host_name.hpp"

namespace dtrain::cluster {
namespace {

constexpr std::size_t max_hosts = 1'000'000;
constexpr std::size_t max_digits = 9;

class Expander {
  public:
    explicit Expander(std::string_view nodelist) : nodelist_(nodelist) {}

    std::vector<std::string> run() {
        if (trimmed(nodelist_).empty()) return {};
        for (const auto& item : split_outside_brackets()) add_item(trimmed(item));
        return std::move(hosts_);
    }

  private:
    [[noreturn]] void fail(std::string_view why) const {
        constexpr std::size_t shown = 200;
        throw UsageError(fmt::format("node list '{}{}' {}; write it as in n[01-03,7],login2",
                                     nodelist_.substr(0, shown), nodelist_.size() > shown ? "..." : "", why));
    }

    std::vector<std::string_view> split_outside_brackets() const {
        std::vector<std::string_view> items;
        std::size_t begin = 0;
        bool inside = false;
        for (std::size_t i = 0; i < nodelist_.size(); ++i) {
            const char c = nodelist_[i];
            if (c == '[') {
                if (inside) fail("has a bracket inside a bracket");
                inside = true;
            } else if (c == ']') {
                if (!inside) fail("closes a bracket that is not open");
                inside = false;
            } else if (c == ',' && !inside) {
                items.push_back(nodelist_.substr(begin, i - begin));
                begin = i + 1;
            }
        }
        if (inside) fail("does not close a bracket");
        items.push_back(nodelist_.substr(begin));
        return items;
    }

    /// "n[1-2]r[1-2]" -> n1r1 n1r2 n2r1 n2r2
    void add_item(std::string_view item) {
        if (item.empty()) fail("has an empty name");
        std::vector<std::string> names{""};
        while (!item.empty()) {
            const auto open = item.find('[');
            append_to_each(names, {std::string(item.substr(0, open))});
            if (open == std::string_view::npos) break;
            const auto close = item.find(']', open);
            append_to_each(names, numbers_of(item.substr(open + 1, close - open - 1)));
            item.remove_prefix(close + 1);
        }
        check_count(hosts_.size() + names.size());
        for (const auto& name : names)
            if (!is_host(name)) fail(fmt::format("has '{}', which is no host name", name));
        std::move(names.begin(), names.end(), std::back_inserter(hosts_));
    }

    void append_to_each(std::vector<std::string>& names, const std::vector<std::string>& tails) const {
        check_count(names.size() * tails.size());
        std::vector<std::string> out;
        out.reserve(names.size() * tails.size());
        for (const auto& name : names)
            for (const auto& tail : tails) {
                if (name.size() + tail.size() > max_host_name)
                    fail(fmt::format("has a name of over {} characters", max_host_name));
                out.push_back(name + tail);
            }
        names = std::move(out);
    }

    /// "01-03,7" -> 01 02 03 7: numbers are zero-padded to the width of the first one in their range.
    std::vector<std::string> numbers_of(std::string_view ranges) const {
        std::vector<std::string> out;
        for (const auto& range : split(ranges, ',')) {
            const std::string_view text(range);
            const auto dash = text.find('-');
            const auto first_text = text.substr(0, dash);
            const auto first = number(first_text, text);
            const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1), text);
            if (last < first) fail(fmt::format("has a range '{}' that runs backwards", text));
            check_count(out.size() + (last - first + 1));
            for (auto n = first; n <= last; ++n) out.push_back(fmt::format("{:0{}}", n, first_text.size()));
        }
        return out;
    }

    std::uint32_t number(std::string_view digits, std::string_view range) const {
        const auto value = digits.size() <= max_digits ? parse_int<std::uint32_t>(digits) : std::nullopt;
        if (!value)
            fail(fmt::format("has a range '{}' that is not two numbers of up to {} digits", range,
                             max_digits));
        return *value;
    }

    void check_count(std::size_t count) const {
        if (count > max_hosts) fail(fmt::format("names over {} hosts", max_hosts));
    }

    std::string_view nodelist_;
    std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> expand_nodelist(std::string_view nodelist) {
    return Expander(nodelist).run();
}

}  // namespace dtrain::cluster
