"""Models: run, profiled, timed, saved, loaded."""
import dataclasses
import os
import threading
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _html
from ._background import Stoppable
from ._ffi import ERROR_SIZE, Handle, Struct, call, encode, ffi, lib, problem, take_json, take_text, text
from ._options import At, Path
from ._tensors import Port, View, by_name, describe, ports_of, view
from ._work import at_list
from .errors import BadInput, Closed

Outputs = Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """The time of a kernel: `seconds` of its `launches` in a run, the median over the runs."""

    name: str
    launches: int
    seconds: float


class Profile(List[KernelTime]):
    """The kernels of a model with their times, the costliest first."""

    @property
    def seconds(self) -> float:
        """Seconds of all kernels."""
        return sum(k.seconds for k in self)

    def __repr__(self) -> str:
        return f"<tctune.Profile: {len(self)} kernels, {_html.seconds(self.seconds)}>"

    def __str__(self) -> str:
        return "\n".join(f"{k.seconds * 1e6:10.2f} us  {k.launches}x  {_html.plain(k.name)}" for k in self)

    def _repr_html_(self) -> str:
        return _html.table(("kernel", "launches", "time"), ((k.name, k.launches, _html.seconds(k.seconds)) for k in self))


class Context:
    """The memory that runs of a model write to. It is called like the model. Each thread that runs a model beside others needs a
    context of its own; code and weights are shared. Model.context() makes one."""

    def __init__(self, model: "Model") -> None:
        self.model = model
        self._lock = threading.Lock()
        out = ffi.new("tctune_context **")
        with model._using() as pointer:
            call("tctune_context_new", pointer, out)
            model._contexts.add(self)
        # The destructor keeps the model: it must outlive its contexts.
        # Found now: cffi looks up a name for the first time under a lock, and a context may be collected just then.
        free = lib.tctune_context_free
        self._pointer: Optional[Any] = ffi.gc(out[0], lambda c, _model=pointer: free(c))
        self._run, self._shape_of = lib.tctune_context_run, lib.tctune_context_output_shape
        self._ins, self._outs = model._inputs, model._outputs
        self._in, self._in_tensors, self._in_kept = _tensors(self._ins)
        self._out, self._out_tensors, self._out_kept = _tensors(self._outs)
        self._in_shapes: List[Optional[Tuple[int, ...]]] = [p.shape for p in self._ins]
        self._room = [(p.shape, p.dtype, p.dtype.itemsize * int(np.prod(p.shape, dtype=np.int64)) + 64) for p in self._outs]
        self._names = [p.name for p in self._outs]
        self._error = ffi.new("char[]", ERROR_SIZE)

    # ---- a run ----

    def __call__(self, *inputs: Any, out: Union[None, Mapping[str, Any], Sequence[Any]] = None, **named: Any) -> Outputs:
        """As a call of the model."""
        if named or len(inputs) != len(self._ins):
            inputs = by_name(self._ins, named, inputs)
        with self._lock:
            if self._pointer is None:
                raise Closed(f"this {'model' if self.model.closed else 'context'} was closed")
            kept = self._take_inputs(inputs)
            results, bases = self._new_outputs() if out is None else self._take_outputs(out)
            status = self._run(self._pointer, self._in, self._out, self._error, ERROR_SIZE)
            if status:
                raise self._failed(status)
            for i, p in enumerate(self._outs):
                if p.shape:
                    shape = tuple(self._shape_of(self._pointer, i)[0:len(p.shape)])
                    if shape != p.shape:
                        results[p.name] = self._trimmed(i, results[p.name], bases[i], shape)
            del kept
            return results

    def _take_inputs(self, inputs: Sequence[Any]) -> List[Any]:
        kept = []
        shapes, from_buffer, ndarray = self._in_shapes, ffi.from_buffer, np.ndarray
        for i, (x, p, t) in enumerate(zip(inputs, self._ins, self._in_tensors)):
            if type(x) is ndarray and x.dtype == p.dtype and x.shape == shapes[i] and x.flags.c_contiguous:
                t.data = data = from_buffer(x)
                kept.append(data)
            else:
                kept.append(self._take_other(i, view(x, p), t))
        return kept

    def _take_other(self, i: int, v: View, t: Any) -> View:
        """Takes an input that has strides, another shape than the last, or is no NumPy array."""
        shape, strides = self._in_kept[i]
        shape[0:len(v.shape)] = v.shape
        t.strides = ffi.NULL
        if v.strides is not None:
            strides[0:len(v.shape)] = v.strides
            t.strides = strides
        self._in_shapes[i] = v.shape if v.strides is None else None
        t.data = ffi.cast("void *", v.address)
        return v

    def _new_outputs(self) -> Tuple[Outputs, List[Any]]:
        results: Outputs = {}
        bases = []
        for name, (shape, dtype, size), t in zip(self._names, self._room, self._out_tensors):
            raw = np.empty(size, np.uint8)
            data = ffi.from_buffer(raw)
            start = -int(ffi.cast("uintptr_t", data)) % 64
            t.data = data + start
            results[name] = np.ndarray(shape, dtype, raw, start)
            bases.append((raw, start))
        return results, bases

    def _take_outputs(self, out: Union[Mapping[str, Any], Sequence[Any]]) -> Tuple[Outputs, List[Any]]:
        given = out if isinstance(out, Mapping) else dict(zip(self._names, out))
        if len(out) != len(self._outs) or set(given) != set(self._names):
            raise BadInput(f"out must have an array for each output, by name or in the order of {', '.join(map(repr, self._outs))}")
        views = []
        for p, t in zip(self._outs, self._out_tensors):
            v = view(given[p.name], p)
            if v.shape != p.shape:
                raise BadInput(f"output '{p.name}' must be {p}, not of shape {list(v.shape)}: it has room for the largest sizes")
            t.data = ffi.cast("void *", v.address)
            views.append(v)
        self._check_overlap(views)
        return {p.name: given[p.name] for p in self._outs}, views

    def _check_overlap(self, outs: Sequence[View]) -> None:
        """Refuses outputs that overlap each other or inputs: a result would be written over values that are still read."""
        taken = [(p, v.address, v.end) for p, v in zip(self._outs, outs)]
        for p, t, (shape, _) in zip(self._ins, self._in_tensors, self._in_kept):
            start = int(ffi.cast("uintptr_t", t.data))
            if p.grows < 0:
                taken.append((p, start, start + p.dtype.itemsize * int(np.prod(tuple(shape[0:len(p.shape)]), dtype=np.int64))))
        for i in range(len(outs)):
            for p, start, end in taken[i + 1:]:
                q, least, most = taken[i]
                if start < most and least < end:
                    raise BadInput(f"output '{q.name}' and {p.role} '{p.name}' lie in the same memory: give each output memory of "
                                   f"its own")

    def _trimmed(self, i: int, result: Any, base: Any, shape: Tuple[int, ...]) -> Any:
        """The written part of an output whose size varies: dense, at the beginning of its memory."""
        if self._is_grown(i):
            return result
        if isinstance(base, tuple):
            return np.ndarray(shape, self._outs[i].dtype, base[0], base[1])
        n = int(np.prod(shape, dtype=np.int64))
        return result.reshape(-1)[:n].reshape(shape)

    def _is_grown(self, i: int) -> bool:
        return any(p.grows == i for p in self._ins)

    def _failed(self, status: int) -> Exception:
        """The library's error, with the inputs that it was given."""
        given = ", ".join(f"{p.name}: {describe(p.type, s[0][0:len(p.shape)])}" for p, s in zip(self._ins, self._in_kept))
        return problem(status, f"{text(self._error)} (given: {given})")

    # ---- the rest ----

    def profile(self, *inputs: Any, runs: int = 20, **named: Any) -> Profile:
        """As Model.profile."""
        inputs = by_name(self._ins, named, inputs)
        with self._lock:
            if self._pointer is None:
                raise Closed(f"this {'model' if self.model.closed else 'context'} was closed")
            kept = self._take_inputs(inputs)
            with self.model._using() as model:
                n = lib.tctune_model_num_kernels(model)
            times = ffi.new("tctune_kernel_time[]", max(n, 1))
            call("tctune_context_profile", self._pointer, self._in, runs, times)
            del kept
            found = [KernelTime(text(times[i].name), times[i].launches, times[i].seconds) for i in range(n)]
        return Profile(sorted(found, key=lambda k: -k.seconds))

    def close(self) -> None:
        """Frees the context's memory. It waits for a run that is under way."""
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer is not None:
                ffi.release(pointer)

    def __repr__(self) -> str:
        return "<tctune.Context, closed>" if self._pointer is None else f"<tctune.Context of {self.model!r}>"

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tensors(ports: Sequence[Port]) -> Tuple[Any, List[Any], List[Tuple[Any, Any]]]:
    """An array of DLTensors, its elements, and the shapes and strides that these point to."""
    array = ffi.new("DLTensor[]", max(len(ports), 1))
    kept = []
    for i, p in enumerate(ports):
        shape, strides = ffi.new("int64_t[]", max(len(p.shape), 1)), ffi.new("int64_t[]", max(len(p.shape), 1))
        shape[0:len(p.shape)] = p.shape
        t = array[i]
        t.device.device_type, t.ndim, t.shape = lib.kDLCPU, len(p.shape), shape
        t.dtype.code, t.dtype.bits, t.dtype.lanes = p.code, p.bits, 1
        kept.append((shape, strides))
    return array, [array[i] for i in range(len(ports))], kept


@dataclasses.dataclass(frozen=True)
class Size:
    """A size of inputs that varies from run to run: a multiple of `multiple`, from `least` to `most`."""

    name: str
    least: int
    most: int
    multiple: int


class Model(Handle):
    """A network or a kernel that can be run. tctune.build and tctune.load make it; call it like a function.

    >>> import numpy as np, tctune
    >>> with tctune.build(tctune.te.parse('''
    ...     tensor X[4] f32
    ...     compute Y[i:4] = X[i] + 1.0
    ...     output Y'''), threads=1) as model:
    ...     model(np.arange(4, dtype="float32"))["Y"]
    array([1., 2., 3., 4.], dtype=float32)
    """

    _kind = "model"
    _free = "tctune_model_free"

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self._contexts: "weakref.WeakSet[Context]" = weakref.WeakSet()
        self._inputs = ports_of(pointer, "input")
        self._outputs = ports_of(pointer, "output")
        self._own: Optional[Context] = None

    @property
    def inputs(self) -> Dict[str, Port]:
        """The inputs by name, in the model's order."""
        return {p.name: p for p in self._inputs}

    @property
    def outputs(self) -> Dict[str, Port]:
        """The outputs by name, in the model's order."""
        return {p.name: p for p in self._outputs}

    def __call__(self, *inputs: Any, out: Union[None, Mapping[str, Any], Sequence[Any]] = None, **named: Any) -> Outputs:
        """Runs the model once. Give inputs in the model's order or by name; if a name is not a word of Python's:
        model(**{"input.1": x}).

        Inputs are NumPy arrays, or anything with __dlpack__ such as torch tensors: dense, in CPU memory, and of the input's type.
        An input is copied only if its memory is not aligned to 64 bytes; tctune.empty makes arrays that are.

        Answers with a dict from name to NumPy array. The arrays are new, or those of `out`: a dict or a sequence with a writable
        array for each output. Arrays of `out` have the shape in `outputs`; if sizes vary, the answer has the part that was written.

        Other Python threads go on during a run. A second call of the same model waits; see context()."""
        own = self._own
        if own is None:
            own = self._own = self.context()
        return own(*inputs, out=out, **named)

    def context(self) -> Context:
        """A context for a thread that runs the model beside other threads."""
        return Context(self)

    def profile(self, *inputs: Any, runs: int = 20, **named: Any) -> Profile:
        """Runs the model `runs` times, and answers with the time of each kernel."""
        with self.context() as context:
            return context.profile(*inputs, runs=runs, **named)

    # ---- what is told at length (docs/json.md) ----

    @property
    def sizes(self) -> Dict[str, Size]:
        """The sizes of inputs that vary from run to run, by name."""
        least, most, multiple = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("int64_t *")
        found = {}
        with self._using() as model:
            for i in range(lib.tctune_model_num_sizes(model)):
                name = text(lib.tctune_model_size(model, i, least, most, multiple))
                found[name] = Size(name, least[0], most[0], multiple[0])
        return found

    def sizes_at(self, at: At = None) -> Dict[str, int]:
        """All sizes of a run for which some are given, {"batch": 4}. The others follow from these, or are the least above 0. None:
        the largest."""
        given = Struct("tctune_bench_options", at=at_list(at))
        found = list(self.sizes)
        sizes = ffi.new("int64_t[]", max(len(found), 1))
        with self._using() as model:
            call("tctune_model_sizes_at", model, given.c.at, sizes)
        return dict(zip(found, sizes))

    def report(self) -> Dict[str, Any]:
        """How the model was built: its kernels with their records, its memory, and which records or roundings the network
        refused."""
        with self._using() as model:
            return take_json("tctune_model_report", model)

    def plan(self) -> str:
        """The memory plan: where each intermediate lies and how long it lives. A loaded model has none."""
        with self._using() as model:
            return take_text("tctune_model_plan", model)

    def bench(self, *, inputs: Optional[Path] = None, at: At = None, repeats: int = 0, seed: int = 0,
              name: Optional[str] = None) -> Dict[str, Any]:
        """The latency of whole runs and the times of the kernels in them, beside what the machine can do (docs/json.md).

        inputs: a file with inputs by name (.npz), or a folder of input_N.pb; None: random numbers of `seed`.
        at: the sizes of random inputs, {"batch": 4}; None: the largest.
        repeats: timed runs; 0: 30. name: what the document calls the model."""
        return self._bench("tctune_bench", inputs=inputs, at=at_list(at), repeats=repeats, seed=seed, name=name)

    def bench_against(self, base: Path, *, inputs: Optional[Path] = None, repeats: int = 0, seed: int = 0,
                      name: Optional[str] = None) -> Dict[str, Any]:
        """Compares the model with `base`: a file with what bench() told of an earlier build. Kernels with another schedule are
        built here with the base's schedule too; both run in turns, and so do the networks. The times in the file do not count.
        ["slower"]: something is slower beyond doubt.

        repeats: rounds, at least 11; 0: 30. A loaded model cannot be compared, nor one that was built with `last`."""
        options = Struct("tctune_bench_options", inputs=inputs, repeats=repeats, seed=seed, name=name)
        with self._using() as model:
            return Stoppable(options).run(lambda: take_json("tctune_bench_against", model, encode(base), options, ffi.NULL))

    def bench_range(self, *, repeats: int = 0, seed: int = 0, name: Optional[str] = None) -> Dict[str, Any]:
        """The latency over the range of each size in turn. The other sizes are the least above 0."""
        return self._bench("tctune_bench_range", repeats=repeats, seed=seed, name=name)

    def _bench(self, function: str, **values: Any) -> Dict[str, Any]:
        options = Struct("tctune_bench_options", **values)
        with self._using() as model:
            return Stoppable(options).run(lambda: take_json(function, model, options))

    def trace(self, *, inputs: Optional[Path] = None, at: At = None, seed: int = 0, name: Optional[str] = None) -> Dict[str, Any]:
        """The timeline of one run: for each thread a slice for each kernel. json.dump makes a file of it that Perfetto and
        chrome://tracing show. The options are those of bench()."""
        options = Struct("tctune_trace_options", inputs=inputs, at=at_list(at), seed=seed, name=name)
        with self._using() as model:
            return take_json("tctune_trace", model, options)

    def trial(self, *, inputs: Optional[Path] = None, at: At = None, seed: int = 0, outputs: Optional[Path] = None,
              expected: Optional[Path] = None, rtol: float = 0, atol: float = 0) -> Dict[str, Any]:
        """Runs the model once, as `tctune run` does. The inputs are those of bench().

        outputs: a file to write the outputs to (.npz).
        expected: a file (.npz, or a folder of output_N.pb) to compare the outputs with: ["ok"] says whether they agree.
        rtol, atol: tolerances of floats; 0: those of their type, as the ONNX project has them; negative: no difference is
            tolerated."""
        options = Struct("tctune_trial_options", inputs=inputs, at=at_list(at), seed=seed, outputs=outputs, expected=expected,
                         rtol=rtol, atol=atol)
        with self._using() as model:
            return take_json("tctune_try", model, options)

    def save(self, path: Path, prefix: Optional[str] = None) -> str:
        """Writes a shared library and a C header beside it, and answers with the path. A path that ends in .o gets a relocatable
        object, one that ends in .c gets C source. prefix: of its symbols; None: from the file's name. A loaded model cannot be
        saved."""
        with self._using() as model:
            call("tctune_model_save", model, encode(path), encode(prefix) if prefix else ffi.NULL)
        return os.fspath(path)

    def close(self) -> None:
        """Frees the model and its contexts. It waits for runs that are under way."""
        if self._pointer is None:
            return
        with self._using() as pointer:
            self._pointer = None
        for context in list(self._contexts):
            context.close()
        ffi.release(pointer)

    def __repr__(self) -> str:
        if self.closed:
            return "<tctune.Model, closed>"
        ins, outs = (", ".join(map(repr, ports)) for ports in (self._inputs, self._outputs))
        return f"<tctune.Model ({ins}) -> ({outs})>"

    def _repr_html_(self) -> str:
        rows = [(p.role, p.name, p.type, list(p.shape)) for p in self._inputs + self._outputs]
        return _html.table(("", "name", "type", "shape"), rows)


def load(library: Path, threads: int = 0) -> Model:
    """Opens a library that Model.save or `tctune build` wrote. threads: 0: the number that it was built for.

    A library is code that runs: load only what you trust."""
    out = ffi.new("tctune_model **")
    call("tctune_load", encode(library), threads, out)
    return Model(out[0])
