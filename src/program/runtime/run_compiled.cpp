// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "program/runtime/compiled_program.hpp"

namespace dtrain::program {

using Clock = std::chrono::steady_clock;

bool CompiledProgram::is_of(const Step& step, Part part) {
    return part == Part::all || (step.phase == Phase::batch) == (part == Part::batch);
}

void CompiledProgram::run_part(Part part) {
    device_->begin_step({.data = part != Part::rest, .writes_state = writes_state_});
    if (device_->captures() && !profiles_)
        run_captured(part);
    else
        for (std::size_t number = 0; number < steps_.size(); ++number)
            if (is_of(steps_[number], part)) run_timed(number);
    device_->end_step();
}

void CompiledProgram::run_timed(std::size_t number) {
    if (averages_ && averages_->step == number && !averages_->count_step()) return;
    auto& step = steps_[number];
    if (!profiles_ && !step.traits.exchanges) return run_step(step);
    if (step.traits.sends_computed) device_->before_exchange();
    if (step.traits.waits_for_device) device_->finish();
    const auto begin = Clock::now();
    run_step(step);
    if (profiles_) device_->finish();
    const auto took = Clock::now() - begin;
    if (step.traits.exchanges) exchange_time_ += took;
    if (!profiles_) return;
    step.time.total += took;
    ++step.time.calls;
}

void CompiledProgram::run_captured(Part part) {
    auto& pieces = pieces_[part];
    if (pieces.empty()) pieces = captured(part);
    for (const auto& piece : pieces) {
        if (piece.graph)
            piece.graph->run();
        else
            run_timed(piece.step);
        progress();
    }
}

bool CompiledProgram::sees_exchanges() const {
    return profiles_ || !device_->captures_sums() ||
           std::ranges::none_of(steps_, [](const Step& step) { return step.traits.reduction.has_value(); });
}

void CompiledProgram::capture(const Step& step) {
    const auto& reduction = step.traits.reduction;
    if (!reduction) return step.kernel->run();
    if (reduction->starts) buckets_.start_captured(reduction->bucket);
    if (reduction->waits) buckets_.wait_captured(reduction->bucket);
}

// Captures consecutive steps that the device does alone, including reductions over ranks if the device
// supports that; other steps stay separate. A graph waits for the reductions that it starts, at the latest at
// its end.
std::vector<CompiledProgram::Piece> CompiledProgram::captured(Part part) {
    std::vector<Piece> pieces;
    std::vector<std::size_t> together;
    std::set<std::size_t> started;  // buckets
    const auto end_piece = [&] {
        if (together.empty()) return;
        const auto give = [&] {
            for (const auto number : together) capture(steps_[number]);
            for (const auto bucket : started) buckets_.wait_captured(bucket);
        };
        const bool sums = std::ranges::any_of(
            together, [&](std::size_t number) { return steps_[number].traits.reduction.has_value(); });
        pieces.push_back({sums ? device_->captured_with_sums(give) : device_->captured(give)});
        together.clear();
        started.clear();
    };
    for (std::size_t number = 0; number < steps_.size(); ++number) {
        const auto& step = steps_[number];
        if (!is_of(step, part)) continue;
        const auto reduction = device_->captures_sums() ? step.traits.reduction : std::nullopt;
        if (!reduction && !step.traits.device_only) {
            end_piece();
            pieces.push_back({nullptr, number});
            continue;
        }
        if (reduction && reduction->starts && !reduction->waits) started.insert(reduction->bucket);
        const bool was_waited_for = reduction && !reduction->starts && started.erase(reduction->bucket) == 0;
        if (!was_waited_for) together.push_back(number);
    }
    end_piece();
    return pieces;
}

void CompiledProgram::run_step(const Step& step) {
    step.kernel->run();
    progress();
}

void CompiledProgram::progress() {
    buckets_.progress();
    if (servers_) servers_->progress();
}

void CompiledProgram::run() {
    if (accumulated_ > 0 || are_virtual_) {
        accumulate();
        update();
        return;
    }
    run_part(Part::all);
}

void CompiledProgram::accumulate() {
    if (!updates_follow_)
        throw Error("accumulate(): the program updates parameters before it has made all gradients");
    if (!unaddable_.empty()) throw Error("accumulate(): " + unaddable_);
    if (are_virtual_ && accumulated_ == batches_.count())
        throw Error(fmt::format("all {} virtual ranks of rank {} have given their gradients already",
                                accumulated_, communicator_.rank()));
    run_part(Part::batch);
    ++accumulated_;
    if (tree_) {
        if (accumulated_ == 1) tree_->start();  // the last step may have failed
        return tree_->add();
    }
    if (tensors_.exchanged().empty()) return;  // all are sparse
    if (!sums_) sums_ = device_->make_gradient_sums(tensors_.exchanged(), 1);
    if (accumulated_ == 1)
        sums_->set(0);
    else
        sums_->add(0);
}

void CompiledProgram::update() {
    if (accumulated_ == 0) throw Error("update() without a batch: call accumulate() before, or run()");
    if (are_virtual_ && accumulated_ < batches_.count())
        throw Error(fmt::format("{} of {} virtual ranks of rank {} have given their gradients", accumulated_,
                                batches_.count(), communicator_.rank()));
    accumulated_ = 0;
    if (sums_) sums_->give_back();
    run_part(Part::rest);
}

void CompiledProgram::average_state() {
    if (!averages_ || !averages_->states_differ) return;
    device_->begin_step({.data = false, .writes_state = true});
    auto& time = steps_[averages_->step].time;
    const auto begin = Clock::now();
    if (averages_->steps_alone > 0) averages_->parameters();
    averages_->state();
    if (profiles_) device_->finish();
    const auto took = Clock::now() - begin;
    exchange_time_ += took;
    time.total += took;
    ++time.calls;
    averages_->steps_alone = 0;
    averages_->states_differ = false;
    device_->end_step();
}

VirtualRanks CompiledProgram::virtual_ranks() const {
    return are_virtual_ ? batches_ : VirtualRanks{communicator_.rank(), communicator_.rank() + 1};
}

std::vector<OperatorTime> CompiledProgram::profile() const {
    std::vector<OperatorTime> times;
    for (const auto& step : steps_) times.push_back(step.time);
    return times;
}

}  // namespace dtrain::program
