# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A process group of torch.distributed over a communicator of dtrain. Its methods have the names, arguments and results of
torch's C++ ProcessGroup; those that torch 2.15 renamed have both names."""
from __future__ import annotations

from ctypes import addressof, byref, c_int, c_size_t, c_uint64
from datetime import timedelta
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch._C._distributed_c10d import AllreduceOptions, Backend, ProcessGroup, ReduceOp, Work
from torch.distributed.distributed_c10d import _world

from .._errors import DtrainError, UsageError
from .._library import library
from .._source import note_source
from ._monitored import monitored_barrier
from ._sparse import all_reduce_sparse
from ._tensors import (REDUCIBLE, apart, bytes_of, check_alike, check_on_cpu, check_root, check_same_layout, check_same_type, combined,
                       copying_back, in_memory, in_one_piece, joined, only, overlap, reduction_of, split, type_and_reduction)
from ._works import TURN, WORKS_LAST, UnderWay, completed, finish_all, keep_for_ever, under_way

_MAX_TAG = 32767
_SUM = ReduceOp.SUM
_CPU = torch.device("cpu")
#: What is called, and its arguments before the request.
_Call = Tuple[Callable[..., int], Tuple[Any, ...]]


def _sizes(values: Sequence[int]) -> Any:
    return (c_size_t * len(values))(*values)


def _check_equal(what: str, actual: int, wanted: int, why: str) -> None:
    if actual != wanted:
        raise UsageError(f"{what}: {actual} elements where {wanted} are needed: {why}")


def _root_of(opts: Any, ranks: int, what: str) -> int:
    """The rank that sends or receives, of torch's options or as a number."""
    root = opts if isinstance(opts, int) else 0 if opts is None else int(opts.rootRank)
    check_root(root, ranks, what)
    return root


def _check_root_tensor(opts: Any, count: int, what: str) -> int:
    """Which of the tensors of a process the root sends."""
    index = int(getattr(opts, "rootTensor", 0))
    if not 0 <= index < count:
        raise UsageError(f"{what}: invalid root tensor {index}; {count} tensors were passed")
    return index


def _splits(sizes: Sequence[int], tensor: torch.Tensor, ranks: int, what: str) -> List[int]:
    """Bytes of each rank's block, of split sizes in rows (none: equal ones)."""
    rows = tensor.shape[0] if tensor.dim() else 1
    row = bytes_of(tensor) // rows if rows else 0
    if not sizes:
        if rows % ranks:
            raise UsageError(f"{what}: the first dimension is {rows}, which {ranks} ranks do not divide: name the split sizes")
        return [rows // ranks * row] * ranks
    if len(sizes) != ranks or sum(sizes) != rows:
        raise UsageError(f"{what}: the split sizes {list(sizes)} are {len(sizes)} and add up to {sum(sizes)}; the group has "
                         f"{ranks} ranks, and the first dimension is {rows}")
    return [size * row for size in sizes]


class Group(ProcessGroup):  # type: ignore[misc]  # torch declares it without types of its own
    """Ranks that exchange tensors in host memory."""

    def __init__(self, store: Any, prefix: str, rank: int, size: int, communicator: int, timeout: timedelta):
        """@param prefix where this group writes in the store"""
        super().__init__(store, rank, size)
        self._store, self._prefix = store, prefix
        self._rank = rank
        self._ranks = size
        self._handle = communicator
        self._name = self._description = ""
        self._sequence = self._monitored = 0
        self._library = library()
        self._together: Optional[List[Work]] = None
        self.options = Backend.Options("dtrain", timeout)
        self.set_timeout(timeout)

    # What torch asks of a group

    def getBackendName(self) -> str:  # pylint: disable=invalid-name  # torch's name
        """ "dtrain" """
        return "dtrain"

    def name(self) -> str:
        """ "dtrain" """
        return "dtrain"

    # torch's C++ asks by one name, its Python by the other

    def getGroupName(self) -> str:  # pylint: disable=invalid-name
        """By which functional collectives find the group."""
        return self._name

    def setGroupName(self, name: str) -> None:  # pylint: disable=invalid-name
        """Torch names its groups."""
        self._name = name
        self._name_for_reports()

    def getGroupDesc(self) -> str:  # pylint: disable=invalid-name
        """What the group is for."""
        return self._description

    def setGroupDesc(self, description: str) -> None:  # pylint: disable=invalid-name
        """As new_group(group_desc=...) says it."""
        self._description = description
        self._name_for_reports()

    def _name_for_reports(self) -> None:
        described = self._description not in ("", "undefined")
        name = self._description if described else f"group {self._name}"
        if self._handle >= 0 and self._library.comm_set_name(self._handle, name.encode()):
            self._library.raise_last_error()

    _set_group_name = setGroupName
    _set_group_desc = setGroupDesc

    @property
    def group_name(self) -> str:
        """As getGroupName()."""
        return self._name

    @property
    def group_desc(self) -> str:
        """As getGroupDesc()."""
        return self._description

    @property
    def _device_types(self) -> List[torch.device]:
        """None while torch makes the group: it would record what backends of its C++ do, and throws where there are none."""
        return [_CPU] if self in _world.pg_map else []

    supports_coalescing = False  # operations need not be one call to be fast
    supports_splitting = False

    def _get_backend(self, device: Any) -> Any:
        """Of a kind of device."""
        if torch.device(device).type == "cpu":
            return self
        return super()._get_backend(device)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long operations wait for other ranks."""
        with TURN:
            if self._library.comm_set_timeout(self._handle, timeout.total_seconds()):
                self._library.raise_last_error()
        self.options._timeout = timeout  # pylint: disable=protected-access

    _set_default_timeout = set_timeout

    def get_group_store(self) -> Any:
        """The store through which the ranks found each other."""
        return self._store

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def shutdown(self) -> None:
        """Frees the communicator. Collective."""
        if self._handle < 0:
            return
        try:
            finish_all(self._handle)
            with TURN:
                if self._library.comm_free(self._handle):
                    self._library.raise_last_error()
        except DtrainError:
            pass  # ranks did not come: what can be freed is when the process ends
        finally:
            self._handle = -1

    def abort(self) -> None:
        """No operation is possible afterwards. What is under way in other ranks ends with their timeout."""
        self._handle = -1

    # How operations are started

    def _start(self, calls: Sequence[_Call], opts: Any, results: Sequence[torch.Tensor], keeps: Tuple[Any, ...],
               finish: Optional[Callable[[], None]] = None) -> Work:
        """Starts what makes up an operation."""
        requests = []
        if self._library.records:
            note_source(self._library)
        with TURN:
            for function, arguments in calls:
                request = c_uint64()
                if function(self._handle, *arguments, addressof(request)):
                    keep_for_ever((keeps, results, requests))
                    self._library.raise_last_error()
                requests.append(request)
        if not requests:
            return completed(results)
        work = UnderWay().begin(self._handle, requests[0], results, (keeps, results)).with_more(requests[1:], finish)
        if len(requests) > 1 and not WORKS_LAST:
            self._started(work, opts)
            work.wait()
            return completed(results)
        return self._started(work, opts)

    def _for_each_rank(self, tensors: Any, dtype: torch.dtype, what: str, which: str) -> List[torch.Tensor]:
        """The tensors for each rank, of a list of them or a list of one such list. @param which input or output"""
        lists = tensors if len(tensors) == 0 or isinstance(tensors[0], (list, tuple)) else [tensors]
        if len(lists) != 1:
            raise UsageError(f"{what} requires a single-element {which} list, that of a tensor for each of {self._ranks} ranks: it "
                             f"has {len(lists)}")
        found = list(lists[0])
        if len(found) != self._ranks:
            raise UsageError(f"{what}: Incorrect {which} list size {len(found)}. {which.capitalize()} list size should be {self._ranks}, "
                             "the number of ranks")
        check_same_type(found, dtype, what)
        return found

    def _started(self, work: UnderWay, opts: Any) -> Work:
        self._sequence += 1
        if self._together is not None:
            self._together.append(work)
        elif getattr(opts, "asyncOp", True) is False:
            work.wait()
        return work

    def start_coalescing(self, _device: Any = None) -> None:
        """Operations up to end_coalescing() have one work."""
        self._together = []

    def end_coalescing(self, _device: Any = None) -> Work:
        """The work of all operations since start_coalescing()."""
        works, self._together = self._together or [], None
        for work in works:
            work.wait()
        return completed([tensor for work in works for tensor in work.result()])

    _start_coalescing = start_coalescing
    _end_coalescing = end_coalescing

    # Collective operations

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, root: Any = None) -> Work:
        """@param tensors one; of several, each gets the one that BroadcastOptions.rootTensor says
        @param opts BroadcastOptions, or the rank that sends"""
        del timeout
        what = "broadcast"
        root = _root_of(opts if root is None else root, self._ranks, what)
        all_of_them = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        chosen = _check_root_tensor(opts, len(all_of_them), what)
        if len(all_of_them) > 1:
            check_alike(all_of_them, what)
        memory = in_memory(all_of_them[chosen], what)
        sent = all_of_them[chosen] if root == self._rank else memory
        finish = copying_back(*((tensor, memory) for tensor in all_of_them if tensor is not sent))
        call = (self._library.broadcast, (memory.data_ptr(), bytes_of(memory), root))
        return self._start([call], opts, all_of_them, (memory,), finish)

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, op: Any = None) -> Work:
        """@param tensors one; several are reduced to one, which each of them gets @param opts AllreduceOptions, or a ReduceOp"""
        del timeout
        if type(tensors) is list and len(tensors) == 1 and type(opts) is AllreduceOptions:  # what DDP and dist.all_reduce() pass
            tensor = tensors[0]
            kind = REDUCIBLE.get(tensor.dtype)
            if kind is not None and tensor.is_cpu and tensor.is_contiguous() and opts.reduceOp == _SUM:
                request = c_uint64()
                if self._library.records:
                    note_source(self._library)
                with TURN:
                    if self._library.all_reduce(self._handle, tensor.data_ptr(), tensor.numel(), kind, 0,
                                                addressof(request)):
                        self._library.raise_last_error()
                return self._started(UnderWay().begin(self._handle, request, tensors, tensor), opts)
        what = "all_reduce"
        all_of_them = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        check_alike(all_of_them, what)
        operation = op if op is not None else ReduceOp.SUM if opts is None else getattr(opts, "reduceOp", opts)
        if all_of_them[0].layout is torch.sparse_coo:
            all_reduce_sparse(all_of_them, reduction_of(operation, what), self._ranks, self._gathered, what)
            return completed(all_of_them)
        if len(all_of_them) == 1:
            return self._all_reduce(all_of_them, operation, opts, what)
        for tensor in all_of_them:
            check_on_cpu(tensor, what)
        reduction = reduction_of(operation, what)
        total = combined(all_of_them, reduction, what)
        kind, how = type_and_reduction(total, reduction, what)
        call = (self._library.all_reduce, (total.data_ptr(), total.numel(), kind, how))
        return self._start([call], opts, all_of_them, (total,), copying_back(*((tensor, total) for tensor in all_of_them)))

    def allreduce_coalesced(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        """All-reduces of several tensors."""
        operation = ReduceOp.SUM if opts is None else opts.reduceOp
        what = "all_reduce_coalesced"
        if not tensors:
            raise UsageError(f"{what} requires non-empty tensor list: none was passed")
        check_same_layout(tensors, what)
        if tensors[0].layout is not torch.strided:
            raise UsageError(f"{what}: unsupported layout {tensors[0].layout}; all_reduce() takes sparse tensors")
        if len({tensor.dtype for tensor in tensors}) > 1:
            raise UsageError(f"{what}: tensors must all have the same type: {', '.join(str(tensor.dtype) for tensor in tensors)}")
        return self._all_reduce(tensors, operation, opts, what)

    def _all_reduce(self, tensors: Sequence[torch.Tensor], operation: Any, opts: Any, what: str) -> Work:
        reduction = reduction_of(operation, what)
        calls, pairs = [], []
        for tensor, memory in zip(tensors, apart([in_memory(tensor, what) for tensor in tensors])):
            kind, how = type_and_reduction(tensor, reduction, what)
            calls.append((self._library.all_reduce, (memory.data_ptr(), memory.numel(), kind, how)))
            pairs.append((tensor, memory))

        return self._start(calls, opts, tensors, (pairs,), copying_back(*pairs))

    def _gathered(self, tensor: torch.Tensor, lengths: List[int]) -> List[torch.Tensor]:
        """All ranks' tensors, of these lengths in the first dimension."""
        all_of_them = [tensor.new_empty((length, *tensor.shape[1:])) for length in lengths]
        self.allgather([all_of_them], [tensor]).wait()
        return all_of_them

    def reduce(self, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None, root: Any = None) -> Work:
        """@param opts ReduceOptions, or the rank that receives and then the operation"""
        del timeout
        root = _root_of(opts if root is None else root, self._ranks, "reduce")
        if not isinstance(tensors, torch.Tensor):
            _check_root_tensor(opts, len(tensors), "reduce")
        tensor = only(tensors, "reduce")
        operation = getattr(opts, "reduceOp", ReduceOp.SUM) if op is None else op
        kind, how = type_and_reduction(tensor, reduction_of(operation, "reduce"), "reduce")
        check_on_cpu(tensor, "reduce")
        if root == self._rank:
            memory = in_memory(tensor, "reduce")
            finish = copying_back((tensor, memory))
        else:
            memory, finish = tensor.clone(memory_format=torch.contiguous_format), None  # the tensor keeps its values here
        call = (self._library.reduce, (memory.data_ptr(), memory.numel(), kind, how, root))
        return self._start([call], opts, [tensor], (memory,), finish)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """@param outputs a tensor for each rank, in a list of one"""
        del timeout
        what = "all_gather"
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        if len(inputs) == 0:
            raise UsageError(f"{what} requires non-empty input tensor list: none was passed")
        if len(outputs) != len(inputs):
            raise UsageError(f"{what} requires input/output tensor lists to have the same length: {len(inputs)} and {len(outputs)}")
        for index, of_ranks in enumerate(outputs):
            if len(of_ranks) != len(inputs) * self._ranks:
                raise UsageError(f"{what}: invalid output tensor list at index {index} (expected length {len(inputs) * self._ranks}, got "
                                 f"{len(of_ranks)}): it has a tensor for each of {self._ranks} ranks")
            check_same_type(of_ranks, inputs[0].dtype, what)
        if len(inputs) > 1:
            return self._all_gather_several(outputs, inputs, opts)
        mine = in_memory(inputs[0], what)
        all_of_them = list(outputs[0])
        for tensor in all_of_them:
            check_on_cpu(tensor, what)
        self._check_own(all_of_them, mine, what)
        lengths = [bytes_of(tensor) for tensor in all_of_them]
        address, finish, target = in_one_piece(all_of_them), None, None
        if address is None or any(overlap(tensor, mine) for tensor in all_of_them):
            target = torch.empty(sum(tensor.numel() for tensor in all_of_them), dtype=mine.dtype)
            address = target.data_ptr()

            def finish() -> None:
                split(target, all_of_them)

        if min(lengths) == max(lengths):
            call: _Call = (self._library.all_gather, (mine.data_ptr(), bytes_of(mine), address))
        else:
            call = (self._library.all_gather_uneven, (mine.data_ptr(), _sizes(lengths), address))
        return self._start([call], opts, all_of_them, (mine, target), finish)

    def _all_gather_several(self, outputs: Any, inputs: Sequence[torch.Tensor], opts: Any) -> Work:
        """Each of the lists gets the tensors of all ranks: those of rank 0, and so on."""
        what = "all_gather"
        check_alike(inputs, what)
        for of_ranks in outputs:
            check_alike([inputs[0], *of_ranks], what)
        mine = joined(inputs)
        target = mine.new_empty(mine.numel() * self._ranks)

        def finish() -> None:
            for of_ranks in outputs:
                split(target, list(of_ranks))

        call = (self._library.all_gather, (mine.data_ptr(), bytes_of(mine), target.data_ptr()))
        return self._start([call], opts, outputs, (mine, target), finish)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        """all_gather_into_tensor()"""
        return self._gather_pairs([output], [tensor], opts, "all_gather_into_tensor")

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                                    opts: Any = None) -> Work:
        """all_gather_into_tensor() of several pairs"""
        return self._gather_pairs(outputs, inputs, opts, "all_gather_into_tensor_coalesced")

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def allgather_coalesced(self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor],
                            opts: Any = None) -> Work:
        """allgather() of several tensors. @param outputs a list for each rank, with a tensor for each input"""
        what = "all_gather_coalesced"
        if len(outputs) != self._ranks:
            raise UsageError(f"{what}: output lists should be equal to world size: there are {len(outputs)}, and {self._ranks} ranks")
        for of_rank in outputs:
            if len(of_rank) != len(inputs):
                raise UsageError(f"{what}: invalid output size: a list has {len(of_rank)} tensors, and {len(inputs)} are sent")
            for i, (output, tensor) in enumerate(zip(of_rank, inputs)):
                if output.numel() != tensor.numel():
                    raise UsageError(f"{what}: invalid size of output tensor at index {i}: {list(output.shape)} and {list(tensor.shape)}")
                if output.dtype is not tensor.dtype:
                    raise UsageError(f"{what}: invalid tensor type at index {i}: {output.dtype} and {tensor.dtype}")
        works = [self.allgather([[of_rank[i] for of_rank in outputs]], [tensor]) for i, tensor in enumerate(inputs)]
        del opts
        for work in works:
            work.wait()
        return completed([tensor for of_rank in outputs for tensor in of_rank])

    def _gather_pairs(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any,
                      what: str) -> Work:
        calls, pairs, keeps = [], [], []
        for output, tensor in zip(outputs, inputs):
            check_same_type([output], tensor.dtype, what)
            _check_equal(what, output.numel(), tensor.numel() * self._ranks, f"{self._ranks} ranks send {tensor.numel()} each")
            memory = in_memory(output, what)
            mine = in_memory(tensor, what)
            if overlap(mine, memory):
                mine = mine.clone()
            calls.append((self._library.all_gather, (mine.data_ptr(), bytes_of(mine), memory.data_ptr())))
            keeps.append(mine)
            pairs.append((output, memory))

        return self._start(calls, opts, outputs, (keeps, pairs), copying_back(*pairs))

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """@param inputs a tensor for each rank, in a list of one"""
        del timeout
        what = "reduce_scatter"
        output = only(outputs, what, "output ")
        blocks = self._for_each_rank(inputs, output.dtype, what, "input")
        for block in blocks:
            check_on_cpu(block, what)
        _check_equal(what, output.numel(), blocks[self._rank].numel(), "the output is as long as the tensor of this rank in "
                     "the list")
        operation = getattr(opts, "reduceOp", ReduceOp.SUM if opts is None else opts)
        if len({block.numel() for block in blocks}) == 1:
            return self._scatter_pairs([output], [joined(blocks)], operation, opts, what)
        # The results of all blocks are formed at once; a rank uses its own
        whole = joined(blocks)
        first = sum(block.numel() for block in blocks[:self._rank])
        kind, how = type_and_reduction(whole, reduction_of(operation, what), what)
        call = (self._library.all_reduce, (whole.data_ptr(), whole.numel(), kind, how))
        return self._start([call], opts, [output], (whole,),
                           lambda: output.copy_(whole[first:first + output.numel()].view(output.shape)))

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        """reduce_scatter_tensor()"""
        operation = ReduceOp.SUM if opts is None else opts.reduceOp
        return self._scatter_pairs([output], [tensor], operation, opts, "reduce_scatter_tensor")

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                                        opts: Any = None) -> Work:
        """reduce_scatter_tensor() of several pairs"""
        operation = ReduceOp.SUM if opts is None else opts.reduceOp
        return self._scatter_pairs(outputs, inputs, operation, opts, "reduce_scatter_tensor_coalesced")

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _scatter_pairs(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], operation: Any, opts: Any,
                       what: str) -> Work:
        reduction = reduction_of(operation, what)
        calls, pairs, keeps = [], [], []
        for output, tensor in zip(outputs, inputs):
            check_same_type([output], tensor.dtype, what)
            _check_equal(what, tensor.numel(), output.numel() * self._ranks, f"a block of {output.numel()} for each of "
                         f"{self._ranks} ranks")
            memory = in_memory(output, what)
            mine = in_memory(tensor, what)
            if overlap(mine, memory):
                memory = torch.empty_like(output, memory_format=torch.contiguous_format)
            kind, how = type_and_reduction(output, reduction, what)
            calls.append((self._library.reduce_scatter, (mine.data_ptr(), memory.data_ptr(), memory.numel(), kind, how)))
            keeps.append(mine)
            pairs.append((output, memory))

        return self._start(calls, opts, outputs, (keeps, pairs), copying_back(*pairs))

    def all_to_all_single(self, output: torch.Tensor, tensor: torch.Tensor, output_splits: Sequence[int] = (),
                          input_splits: Sequence[int] = (), opts: Any = None) -> Work:
        """@param output_splits rows from each rank @param input_splits rows to each rank; none: equal ones"""
        what = "all_to_all_single"
        check_same_type([output], tensor.dtype, what)
        memory = in_memory(output, what)
        mine = in_memory(tensor, what)
        if overlap(mine, memory):
            mine = mine.clone()
        to_each = _splits(input_splits, tensor, self._ranks, what)
        from_each = _splits(output_splits, output, self._ranks, what)
        if not input_splits and not output_splits:
            _check_equal(what, output.numel(), tensor.numel(), "as many are received as are sent")
            call: _Call = (self._library.all_to_all, (mine.data_ptr(), memory.data_ptr(), to_each[0]))
        else:
            call = (self._library.all_to_all_uneven, (mine.data_ptr(), _sizes(to_each), memory.data_ptr(), _sizes(from_each)))
        return self._start([call], opts, [output], (mine, memory), copying_back((output, memory)))

    alltoall_base = all_to_all_single

    def alltoall(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any = None) -> Work:
        """@param inputs the tensor for each rank @param outputs the tensor from each rank"""
        what = "all_to_all"
        for tensors in (outputs, inputs):
            if len(tensors) != self._ranks:
                raise UsageError(f"{what}: a list has {len(tensors)} tensors, and the group has {self._ranks} ranks")
            check_same_type(tensors, inputs[0].dtype, what)
            for tensor in tensors:
                check_on_cpu(tensor, what)
        mine = joined(inputs)
        target = torch.empty(sum(tensor.numel() for tensor in outputs), dtype=mine.dtype)
        call = (self._library.all_to_all_uneven, (mine.data_ptr(), _sizes([bytes_of(tensor) for tensor in inputs]),
                                                  target.data_ptr(), _sizes([bytes_of(tensor) for tensor in outputs])))
        return self._start([call], opts, outputs, (mine, target), lambda: split(target, list(outputs)))

    def _check_own(self, of_ranks: Sequence[torch.Tensor], mine: torch.Tensor, what: str) -> None:
        """What a root exchanges with itself has one length."""
        if of_ranks[self._rank].numel() != mine.numel():
            raise UsageError(f"{what}: invalid tensor size at index {self._rank}: the tensor for this rank in the list has "
                             f"{of_ranks[self._rank].numel()} elements, and the other one {mine.numel()}")

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, root: Any = None) -> Work:
        """@param outputs on the rank that receives: a tensor for each rank, in a list of one; elsewhere empty"""
        del timeout
        what = "gather"
        root = _root_of(opts if root is None else root, self._ranks, what)
        mine = in_memory(only(inputs, what, "input "), what)
        if self._rank != root:
            if len(outputs) and len(outputs[0]):
                raise UsageError(f"{what} requires empty output on non-root: rank {self._rank} passes tensors for the result, which rank "
                                 f"{root} receives")
            call = (self._library.gather, (mine.data_ptr(), bytes_of(mine), None, None, root))
            return self._start([call], opts, [], (mine,))
        all_of_them = self._for_each_rank(outputs, mine.dtype, what, "output")
        self._check_own(all_of_them, mine, what)
        target = torch.empty(sum(tensor.numel() for tensor in all_of_them), dtype=mine.dtype)
        lengths = _sizes([bytes_of(tensor) for tensor in all_of_them])
        call = (self._library.gather, (mine.data_ptr(), bytes_of(mine), target.data_ptr(), addressof(lengths), root))
        return self._start([call], opts, all_of_them, (mine, target, lengths), lambda: split(target, all_of_them))

    def gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        """gather() into one tensor"""
        root = 0 if opts is None else opts.rootRank
        blocks = [list(output.view(self._ranks, -1).unbind(0))] if self._rank == root else []
        return self.gather(blocks, [tensor.reshape(-1)], opts)

    gather_into_tensor = gather_single

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, root: Any = None) -> Work:
        """@param inputs on the rank that sends: a tensor for each rank, in a list of one; elsewhere empty"""
        del timeout
        what = "scatter"
        root = _root_of(opts if root is None else root, self._ranks, what)
        output = only(outputs, what, "output ")
        memory = in_memory(output, what)
        finish = copying_back((output, memory))
        if self._rank != root:
            if len(inputs) and len(inputs[0]):
                raise UsageError(f"{what} requires empty input on non-root: rank {self._rank} passes tensors to send, and rank {root} sends")
            call = (self._library.scatter, (None, None, memory.data_ptr(), bytes_of(memory), root))
            return self._start([call], opts, [output], (memory,), finish)
        blocks = self._for_each_rank(inputs, output.dtype, what, "input")
        self._check_own(blocks, memory, what)
        whole = joined(blocks)
        lengths = _sizes([bytes_of(block) for block in blocks])
        call = (self._library.scatter, (whole.data_ptr(), addressof(lengths), memory.data_ptr(), bytes_of(memory), root))
        return self._start([call], opts, [output], (memory, whole, lengths), finish)

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:
        """Complete when all ranks have entered."""
        del timeout
        before = [work for work in under_way(self._handle) if work.copies]

        def finish() -> None:
            for work in before:
                work.wait()

        return self._start([(self._library.barrier, ())], opts, [], (), finish if before else None)

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool = False) -> None:
        """A barrier that names the ranks that do not come within the timeout."""
        self._monitored += 1
        monitored_barrier(self._store, f"{self._prefix}/monitored/{self._monitored}", self._rank, self._ranks, timeout, wait_all_ranks)

    monitoredBarrier = monitored_barrier

    # Messages

    def _check_tag(self, tag: int, what: str) -> None:
        if not 0 <= tag <= _MAX_TAG:
            raise UsageError(f"{what}: the tag is {tag}; tags of the back end dtrain are 0 to {_MAX_TAG}")

    def send(self, tensors: Any, to: int, tag: int = 0) -> Work:
        """Sends to a rank of the group."""
        self._check_tag(tag, "send")
        memory = in_memory(only(tensors, "send"), "send")
        return self._start([(self._library.send, (memory.data_ptr(), bytes_of(memory), to, tag))], None, [], (memory,))

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        """Receives from a rank of the group."""
        self._check_tag(tag, "recv")
        tensor = only(tensors, "recv")
        memory = in_memory(tensor, "recv")
        call = (self._library.receive, (memory.data_ptr(), bytes_of(memory), source, tag))
        work = self._start([call], None, [tensor], (memory,), copying_back((tensor, memory)))
        work.is_message = True
        return work

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receives from whichever rank sends first; the work's source_rank() says which."""
        self._check_tag(tag, "recv")
        tensor = only(tensors, "recv")
        memory = in_memory(tensor, "recv")
        source, request = c_int(-1), c_uint64()
        if self._library.records:
            note_source(self._library)
        with TURN:
            if self._library.receive_any(self._handle, memory.data_ptr(), bytes_of(memory), tag, byref(source),
                                         addressof(request)):
                self._library.raise_last_error()
        finish = copying_back((tensor, memory))
        work = UnderWay().begin(self._handle, request, [tensor], (memory, source)).with_more((), finish, source)
        work.is_message = True
        return work

    recvAnysource = recv_anysource
