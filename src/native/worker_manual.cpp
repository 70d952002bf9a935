// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/worker_manual.hpp"

#include <iterator>

#include "base/completion.hpp"
#include "base/manual_page.hpp"
#include "native/options.hpp"
#include "worker/options.hpp"

namespace dtrain::native {
namespace {

ManualPage whole_page() {
    auto page = worker::manual_page();
    page.sections.push_back(job_option_section());
    page.examples += "\n\n" + job_examples();
    return page;
}

}  // namespace

std::string manual_page() {
    return roff_of(whole_page());
}

std::string completion_script(const std::string& shell) {
    Completion completion{.programs = {"dtrain-worker"}, .args = "job file", .program_behind_dashes = true};
    for (auto& section : whole_page().sections)
        std::move(section.options.begin(), section.options.end(), std::back_inserter(completion.options));
    return dtrain::completion_script(completion, shell);
}

}  // namespace dtrain::native
