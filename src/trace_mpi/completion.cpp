// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What begins and completes nonblocking operations.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;
using dtrain::trace::OperationLog;

namespace {

/// The operations that a call of MPI_Wait or MPI_Test is about. The call changes the handles.
class Completion {
  public:
    Completion(Recorder& recorder, const MPI_Request* requests, int count)
        : recorder_(recorder), now_(requests, requests + std::max(0, count)) {
        if (now_.size() > few_.size()) {
            many_.resize(now_.size());
            items_ = many_;
        } else {
            items_ = std::span(few_).first(now_.size());
        }
        for (std::size_t at = 0; at < items_.size(); ++at)
            items_[at] = {now_[at], recorder.requests.of(now_[at]).ticket};
    }
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;
    ~Completion() {
        if (!waits_) return;
        for (const auto& item : items_)
            if (!item.is_complete) recorder_.log.goes_on(item.ticket);
    }

    /// This thread waits for them.
    void wait() {
        waits_ = true;
        for (auto& item : items_)
            if (item.ticket != 0) item.ticket = recorder_.requests.waits(item.request).ticket;
    }

    /// Not of a file, a window or a generalized request, for which nothing was begun.
    bool knows_any() const {
        return std::ranges::any_of(items_, [](const Item& item) { return item.ticket != 0; });
    }
    bool has_any() const {
        return std::ranges::any_of(items_, [](const Item& item) { return item.request != MPI_REQUEST_NULL; });
    }

    void complete(int index) {
        if (index < 0 || static_cast<std::size_t>(index) >= items_.size()) return;
        auto& item = items_[static_cast<std::size_t>(index)];
        item.is_complete = true;
        recorder_.requests.end(item.request, item.ticket);
    }
    void complete_all() {
        for (std::size_t at = 0; at < items_.size(); ++at) complete(static_cast<int>(at));
    }
    void complete(const int* indices, int count) {
        if (count != MPI_UNDEFINED) std::for_each(indices, indices + count, [&](int at) { complete(at); });
    }
    /// After an error.
    void complete_freed() {
        for (std::size_t at = 0; at < items_.size(); ++at)
            if (now_[at] == MPI_REQUEST_NULL) complete(static_cast<int>(at));
    }

  private:
    struct Item {
        MPI_Request request;
        OperationLog::Ticket ticket;
        bool is_complete = false;
    };

    Recorder& recorder_;
    std::span<const MPI_Request> now_;
    std::array<Item, 8> few_;
    std::vector<Item> many_;
    std::span<Item> items_;
    bool waits_ = false;
};

/// @param done of a call that succeeded: says which are complete
template <class Run, class Done>
int run_and_note(Completion& completion, const Run& run, const Done& done) {
    const int result = run();
    if (result == MPI_SUCCESS)
        done(completion);
    else
        completion.complete_freed();
    return result;
}

template <class Run, class Done>
[[gnu::always_inline]] inline int waiting(const char* name, const MPI_Request* requests, int count,
                                          const Run& run, const Done& done) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    Completion completion(*recorder, requests, count);
    if (!completion.knows_any() && completion.has_any()) {
        const OtherCall call{.name = name, .where = of_comm(MPI_COMM_WORLD)};
        const BlockingOperation operation(*recorder, recorder->describe(call, __builtin_return_address(0)));
        return run();
    }
    const InCall in_call;
    completion.wait();
    return run_and_note(completion, run, done);
}

template <class Run, class Done>
[[gnu::always_inline]] inline int testing(const MPI_Request* requests, int count, const Run& run,
                                          const Done& done) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const InCall in_call;
    Completion completion(*recorder, requests, count);
    return run_and_note(completion, run, done);
}

void start(Recorder& recorder, MPI_Request request) {
    if (const auto operation = recorder.requests.persistent(request))
        recorder.requests.add(request, {recorder.log.begin(*operation), *operation});
}

}  // namespace

DTRAIN_RECORDED(Wait);
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return waiting(
        "MPI_Wait", request, 1, [&] { return mpi_library::Wait(request, status); },
        [](Completion& completion) { completion.complete_all(); });
}

DTRAIN_RECORDED(Waitall);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return waiting(
        "MPI_Waitall", requests, count, [&] { return mpi_library::Waitall(count, requests, statuses); },
        [](Completion& completion) { completion.complete_all(); });
}

DTRAIN_RECORDED(Waitany);
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return waiting(
        "MPI_Waitany", requests, count, [&] { return mpi_library::Waitany(count, requests, index, status); },
        [&](Completion& completion) { completion.complete(*index); });
}

DTRAIN_RECORDED(Waitsome);
int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
    return waiting(
        "MPI_Waitsome", requests, count,
        [&] { return mpi_library::Waitsome(count, requests, completed, indices, statuses); },
        [&](Completion& completion) { completion.complete(indices, *completed); });
}

DTRAIN_RECORDED(Test);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return testing(
        request, 1, [&] { return mpi_library::Test(request, flag, status); },
        [&](Completion& completion) {
            if (*flag != 0) completion.complete_all();
        });
}

DTRAIN_RECORDED(Testall);
int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return testing(
        requests, count, [&] { return mpi_library::Testall(count, requests, flag, statuses); },
        [&](Completion& completion) {
            if (*flag != 0) completion.complete_all();
        });
}

DTRAIN_RECORDED(Testany);
int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return testing(
        requests, count, [&] { return mpi_library::Testany(count, requests, index, flag, status); },
        [&](Completion& completion) {
            if (*flag != 0) completion.complete(*index);
        });
}

DTRAIN_RECORDED(Testsome);
int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
    return testing(
        requests, count, [&] { return mpi_library::Testsome(count, requests, completed, indices, statuses); },
        [&](Completion& completion) { completion.complete(indices, *completed); });
}

DTRAIN_RECORDED(Request_free);
/// The operation goes on, but nobody will ever wait for it.
int MPI_Request_free(MPI_Request* request) {
    auto* const recorder = Recorder::of_this_call();
    // Before it is free: then another thread may get the handle for a new one.
    if (recorder != nullptr) {
        recorder->requests.remove_persistent(*request);
        recorder->requests.end(*request, recorder->requests.of(*request).ticket);
    }
    return mpi_library::Request_free(request);
}

DTRAIN_RECORDED(Start);
int MPI_Start(MPI_Request* request) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder != nullptr) start(*recorder, *request);
    return mpi_library::Start(request);
}

DTRAIN_RECORDED(Startall);
int MPI_Startall(int count, MPI_Request requests[]) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder != nullptr)
        std::for_each(requests, requests + count, [&](MPI_Request request) { start(*recorder, request); });
    return mpi_library::Startall(count, requests);
}
