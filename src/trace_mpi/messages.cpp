// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;
using dtrain::trace::OperationKind;
using dtrain::trace::OperationLog;

namespace {

MessageCall sending(const char* name, Elements elements, int to, int tag, MPI_Comm comm) {
    return {.name = name,
            .kind = OperationKind::send,
            .comm = comm,
            .elements = elements,
            .peer = to,
            .tag = tag};
}

MessageCall receiving(const char* name, Elements elements, int from, int tag, MPI_Comm comm) {
    return {.name = name,
            .kind = OperationKind::receive,
            .comm = comm,
            .elements = elements,
            .peer = from,
            .tag = tag};
}

/// A message to or from MPI_PROC_NULL is none.
template <class Run>
[[gnu::always_inline]] inline int message(const MessageCall& call, const Run& run) {
    return call.peer == MPI_PROC_NULL ? run() : blocking(call, run);
}

template <class Run>
[[gnu::always_inline]] inline int message(const MessageCall& call, MPI_Request* request, const Run& run) {
    return call.peer == MPI_PROC_NULL ? run() : nonblocking(call, request, run);
}

/// A request for a message that MPI_Start begins, as often as the program wants.
template <class Run>
[[gnu::always_inline]] inline int persistent(const MessageCall& call, MPI_Request* request, const Run& run) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr || call.peer == MPI_PROC_NULL) [[likely]]
        return run();
    const InCall in_call;
    const int result = run();
    if (result == MPI_SUCCESS)
        recorder->requests.add_persistent(*request, recorder->describe(call, __builtin_return_address(0)));
    return result;
}

/// Waits for two messages.
template <class Run>
[[gnu::always_inline]] inline int exchange(const MessageCall& send, const MessageCall& receive,
                                           const Run& run) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const InCall in_call;
    auto& log = recorder->log;
    std::array<OperationLog::Ticket, 2> tickets{};  // 0: none
    for (std::size_t at = 0; const auto* call : {&receive, &send}) {
        if (call->peer != MPI_PROC_NULL)
            tickets[at] = log.begin(recorder->describe(*call, __builtin_return_address(0)));
        log.waits(tickets[at++]);
    }
    const int result = run();
    for (const auto ticket : tickets) log.end(ticket);
    return result;
}

}  // namespace

DTRAIN_RECORDED(Send);
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return message(sending("MPI_Send", {count, type}, to, tag, comm),
                   [&] { return mpi_library::Send(data, count, type, to, tag, comm); });
}

DTRAIN_RECORDED(Isend);
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return message(sending("MPI_Isend", {count, type}, to, tag, comm), request,
                   [&] { return mpi_library::Isend(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Send_init);
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    return persistent(sending("MPI_Send", {count, type}, to, tag, comm), request,
                      [&] { return mpi_library::Send_init(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Ssend);
int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return message(sending("MPI_Ssend", {count, type}, to, tag, comm),
                   [&] { return mpi_library::Ssend(data, count, type, to, tag, comm); });
}

DTRAIN_RECORDED(Issend);
int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return message(sending("MPI_Issend", {count, type}, to, tag, comm), request,
                   [&] { return mpi_library::Issend(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Ssend_init);
int MPI_Ssend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return persistent(sending("MPI_Ssend", {count, type}, to, tag, comm), request,
                      [&] { return mpi_library::Ssend_init(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Bsend);
int MPI_Bsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return message(sending("MPI_Bsend", {count, type}, to, tag, comm),
                   [&] { return mpi_library::Bsend(data, count, type, to, tag, comm); });
}

DTRAIN_RECORDED(Ibsend);
int MPI_Ibsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return message(sending("MPI_Ibsend", {count, type}, to, tag, comm), request,
                   [&] { return mpi_library::Ibsend(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Bsend_init);
int MPI_Bsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return persistent(sending("MPI_Bsend", {count, type}, to, tag, comm), request,
                      [&] { return mpi_library::Bsend_init(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Rsend);
int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return message(sending("MPI_Rsend", {count, type}, to, tag, comm),
                   [&] { return mpi_library::Rsend(data, count, type, to, tag, comm); });
}

DTRAIN_RECORDED(Irsend);
int MPI_Irsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
    return message(sending("MPI_Irsend", {count, type}, to, tag, comm), request,
                   [&] { return mpi_library::Irsend(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Rsend_init);
int MPI_Rsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return persistent(sending("MPI_Rsend", {count, type}, to, tag, comm), request,
                      [&] { return mpi_library::Rsend_init(data, count, type, to, tag, comm, request); });
}

DTRAIN_RECORDED(Recv);
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return message(receiving("MPI_Recv", {count, type}, from, tag, comm),
                   [&] { return mpi_library::Recv(data, count, type, from, tag, comm, status); });
}

DTRAIN_RECORDED(Irecv);
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return message(receiving("MPI_Irecv", {count, type}, from, tag, comm), request,
                   [&] { return mpi_library::Irecv(data, count, type, from, tag, comm, request); });
}

DTRAIN_RECORDED(Recv_init);
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    return persistent(receiving("MPI_Recv", {count, type}, from, tag, comm), request,
                      [&] { return mpi_library::Recv_init(data, count, type, from, tag, comm, request); });
}

DTRAIN_RECORDED(Probe);
int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return message(receiving("MPI_Probe", {}, from, tag, comm),
                   [&] { return mpi_library::Probe(from, tag, comm, status); });
}

DTRAIN_RECORDED(Mprobe);
int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* found, MPI_Status* status) {
    return message(receiving("MPI_Mprobe", {}, from, tag, comm),
                   [&] { return mpi_library::Mprobe(from, tag, comm, found, status); });
}

DTRAIN_RECORDED(Mrecv);
// A matched message is of a communicator that its handle does not tell.
int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* found, MPI_Status* status) {
    return blocking(
        OtherCall{.name = "MPI_Mrecv", .where = of_comm(MPI_COMM_WORLD), .elements = {count, type}},
        [&] { return mpi_library::Mrecv(data, count, type, found, status); });
}

DTRAIN_RECORDED(Imrecv);
int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* found, MPI_Request* request) {
    return nonblocking(
        OtherCall{.name = "MPI_Imrecv", .where = of_comm(MPI_COMM_WORLD), .elements = {count, type}}, request,
        [&] { return mpi_library::Imrecv(data, count, type, found, request); });
}

DTRAIN_RECORDED(Sendrecv);
int MPI_Sendrecv(const void* sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                 void* received, int receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                 MPI_Comm comm, MPI_Status* status) {
    return exchange(sending("MPI_Sendrecv", {send_count, send_type}, to, send_tag, comm),
                    receiving("MPI_Sendrecv", {receive_count, receive_type}, from, receive_tag, comm), [&] {
                        return mpi_library::Sendrecv(sent, send_count, send_type, to, send_tag, received,
                                                     receive_count, receive_type, from, receive_tag, comm,
                                                     status);
                    });
}

DTRAIN_RECORDED(Sendrecv_replace);
int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int send_tag, int from,
                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
    return exchange(sending("MPI_Sendrecv_replace", {count, type}, to, send_tag, comm),
                    receiving("MPI_Sendrecv_replace", {count, type}, from, receive_tag, comm), [&] {
                        return mpi_library::Sendrecv_replace(data, count, type, to, send_tag, from,
                                                             receive_tag, comm, status);
                    });
}
