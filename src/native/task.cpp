// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/task.hpp"

#include <dtrain/dataset.hpp>

#include "native/classifier.hpp"
#include "native/click_task.hpp"

namespace dtrain::native {

std::unique_ptr<const Task> open_task(const Job& job, bool with_servers) {
    if (job.model.kind == ModelKind::click_through) return open_click_task(job, with_servers);
    return std::make_unique<ClassifierTask>(
        job.model, open_data(job.train_data, job.data_memory),
        job.test_data ? open_data(*job.test_data, job.data_memory) : nullptr);
}

}  // namespace dtrain::native
