// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Trainer: writing and reading the training state of checkpoints.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include <dtrain/checkpoint.hpp>

#include "checkpoint/restore_together.hpp"
#include "model/resume_servers.hpp"
#include "native/trainer.hpp"

namespace dtrain::native {
namespace {

constexpr const char* loss_name = "loss";
constexpr const char* correct_name = "correct";
constexpr const char* left_out_name = "left_out";

}  // namespace

std::filesystem::path Trainer::resume(const std::vector<std::filesystem::path>& files,
                                      const std::function<void(const std::string&)>& warn) {
    const auto found = checkpoint::restore_together(
        communicator_, files, job_, state_,
        [&] {
            const checkpoint::StoredArrays fresh(State(model_.train, seed_));
            checkpoint::StoredArrays(state_).set_to(fresh.values());
        },
        warn);
    go_on_from(found.header);
    return found.file;
}

void Trainer::go_on_from(const CheckpointHeader& header) {
    std::array<std::int64_t, 3> position{header.epoch, header.step, header.epoch_step};
    communicator_.broadcast(std::span<std::int64_t>(position));
    loop_.go_on_from({.epoch = position[0], .step = position[1], .epoch_step = position[2]});
    take_sums(header);
}

void Trainer::resume_rows(const std::filesystem::path& folder,
                          const std::function<void(const std::string&)>& warn) {
    model::resume_trainer_rows(*servers_, communicator_, folder, warn);
}

void Trainer::take_sums(const CheckpointHeader& header) {
    const auto ranks = static_cast<std::size_t>(communicator_.size());
    std::vector<double> sums(3 * ranks, 0);
    const auto take = [&](const std::string& name, std::size_t first) {
        const auto found = header.sums.find(name);
        if (found == header.sums.end()) return;
        const auto& stored = found->second;
        if (stored.size() == ranks)
            std::ranges::copy(stored, sums.begin() + static_cast<std::ptrdiff_t>(first));
        else
            sums[first] = std::accumulate(stored.begin(), stored.end(), 0.0);
    };
    take(loss_name, 0);
    take(correct_name, ranks);
    take(left_out_name, 2 * ranks);
    communicator_.broadcast(std::span<double>(sums));
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    sums_ = {sums[rank], sums[ranks + rank], sums[2 * ranks + rank]};
}

CheckpointHeader Trainer::header() const {
    CheckpointHeader header;
    header.epoch = epochs_done();
    header.step = steps_done();
    header.epoch_step = epoch_steps_done();
    header.seed = seed_;
    header.job = job_;
    if (epoch_steps_done() == 0) return header;
    const auto gather = [&](const char* name, double own) {
        for (const auto sum : communicator_.all_gather(std::bit_cast<std::int64_t>(own)))
            header.sums[name].push_back(std::bit_cast<double>(sum));
    };
    gather(loss_name, sums_.loss);
    if (!model_.correct.empty()) gather(correct_name, sums_.correct);
    if (leaves_out_not_finite_) gather(left_out_name, sums_.left_out);
    return header;
}

}  // namespace dtrain::native
