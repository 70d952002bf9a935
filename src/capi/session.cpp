// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "capi/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/mpi.hpp>
#include <dtrain/version.hpp>

#include "base/error_file.hpp"
#include "capi/buffers.hpp"
#include "capi/guarded.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain::capi {
namespace {

/// Never destroyed by the end of the process: end_with_process() decides what becomes of it.
std::unique_ptr<Session>& living() {
    static auto* session = new std::unique_ptr<Session>;
    return *session;
}

pid_t owner = 0;

UsageError not_initialised() {
    return UsageError("dtrain is not initialised: call dtrain_init() (dtrain.init()) first");
}

void end_with_process(int status, void*) {
    const bool is_fork = ::getpid() != owner;
    if (!living() || is_fork) return;
    if (status == 0 && !comm::is_broken() && dtrain_finish() == DTRAIN_OK) return;
    if (comm::mpi_is_running()) abort_job(std::max(status, 1));
}

}  // namespace

void end_sessions_with_process() {
    if (::on_exit(end_with_process, nullptr) != 0)
        throw Error("on_exit failed: there is no memory for one more function");
}

void Session::begin_world() {
    if (has_world()) throw UsageError("dtrain was initialised already");
    if (comm::mpi_is_running())
        communicators_.front() = from_mpi(MPI_COMM_WORLD);
    else
        communicators_.front() = env_.emplace(0, nullptr).communicator();
}

Session::~Session() {
    free_all_buffers();
}

const Communicator& Session::communicator(dtrain_comm comm) const {
    if (comm < 0 || comm >= std::ssize(communicators_))
        throw UsageError(fmt::format("communicator {}: there is none such", comm));
    const auto& found = communicators_[static_cast<std::size_t>(comm)];
    if (!found && comm == DTRAIN_WORLD) throw not_initialised();
    if (!found) throw UsageError(fmt::format("communicator {} was freed", comm));
    return *found;
}

dtrain_comm Session::add(Communicator communicator) {
    communicators_.emplace_back(std::move(communicator));
    return static_cast<dtrain_comm>(communicators_.size()) - 1;
}

void Session::free(dtrain_comm comm) {
    communicator(comm);
    if (comm == DTRAIN_WORLD) throw UsageError("the communicator of all ranks ends with dtrain_finish()");
    refuse_while_under_way(comm);
    communicators_[static_cast<std::size_t>(comm)].reset();
}

SharedBuffer Session::allocate(dtrain_comm comm, std::size_t bytes) {
    const auto& ranks = communicator(comm);
    allocating_.emplace(comm, ranks);
    return ranks.allocate(bytes);
}

dtrain_request Session::add(dtrain_comm comm, Request operation) {
    if (operation.complete()) return 0;
    std::vector<Request> operations;
    operations.push_back(std::move(operation));
    return add(comm, std::move(operations));
}

dtrain_request Session::add(dtrain_comm comm, std::vector<Request> operations) {
    under_way_.emplace(++started_, UnderWay{comm, std::move(operations)});
    return started_;
}

std::map<dtrain_request, Session::UnderWay>::iterator Session::find(dtrain_request request) {
    const auto found = under_way_.find(request);
    if (found == under_way_.end())
        throw UsageError(
            fmt::format("request {}: there is none such, or it has been waited for already", request));
    return found;
}

bool Session::test(dtrain_request request) {
    const auto found = find(request);
    try {
        auto& operations = found->second.operations;
        if (!std::ranges::all_of(operations, [](Request& operation) { return operation.test(); }))
            return false;
    } catch (...) {
        under_way_.erase(found);
        throw;
    }
    under_way_.erase(found);
    return true;
}

void Session::wait(dtrain_request request) {
    if (request == 0) return;
    auto ended = under_way_.extract(find(request));
    for (auto& operation : ended.mapped().operations) operation.wait();
}

bool Session::wait_for(dtrain_request request, std::chrono::duration<double> limit) {
    auto waiting = under_way_.extract(find(request));
    const auto end = comm::time_after(limit);
    for (auto& operation : waiting.mapped().operations)
        if (!operation.wait_for(end - comm::Backoff::Clock::now())) {
            under_way_.insert(std::move(waiting));
            return false;
        }
    return true;
}

void Session::refuse_while_under_way(std::optional<dtrain_comm> comm) const {
    const auto left = std::ranges::count_if(
        under_way_, [&](const auto& started) { return !comm || started.second.comm == *comm; });
    if (left > 0) throw UsageError(fmt::format("operations under way: {}; wait for them first", left));
}

Session& session() {
    if (!living()) throw not_initialised();
    return *living();
}

Session& session_or_new() {
    if (!living()) {
        living() = std::make_unique<Session>();
        owner = ::getpid();
    }
    return *living();
}

}  // namespace dtrain::capi

using dtrain::capi::guarded;
using dtrain::capi::living;
using dtrain::capi::Session;
using dtrain::capi::session;

const char* dtrain_version(void) {
    return dtrain::version;
}

int dtrain_init(void) {
    return guarded([] {
        const bool is_new = !living();
        try {
            dtrain::capi::session_or_new().begin_world();
            dtrain::capi::end_sessions_with_process();
        } catch (...) {
            if (is_new) living().reset();
            throw;
        }
    });
}

int dtrain_finish(void) {
    return guarded([] {
        session().refuse_while_under_way(std::nullopt);
        living().reset();
    });
}

int dtrain_is_initialised(void) {
    return living() && living()->has_world() ? 1 : 0;
}

void dtrain_abort(int status) {
    dtrain::abort_job(status);
}

int dtrain_report_error(const char* kind, const char* message) {
    return dtrain::capi::without_exceptions(
        [&] { dtrain::report_error({.kind = kind, .message = message}); });
}
