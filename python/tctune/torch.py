"""Compiles PyTorch's modules.

    fast = tctune.torch.compile(module, example_inputs, trials=1000, db="mine.db")
    y = fast(x)

PyTorch exports the module to ONNX; tctune tunes it if trials or minutes are given, and builds it. The result is a module with the
same parameters and state dict, for inference on the CPU."""
import inspect
import os
import re
import tempfile
import warnings
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

try:
    import torch
except ImportError as _e:
    raise ImportError("tctune.torch needs PyTorch (Debian: python3-torch)") from _e

from ._build import DEFAULT_DB, BuildProgress, build
from ._fleet import FleetLike
from ._model import Model
from ._options import Accuracy, FixedInputs, Mode, Path, Paths, Precision, Shape, Team
from ._tune import Search, TuneProgress, tune
from ._work import Work
from .errors import BadInput, TctuneError


class CompiledModule(torch.nn.Module):
    """A module that runs a tctune.Model, `model`. Its parameters, buffers and submodules, and so its state dict, are those of the
    original module. The model keeps the values that they had when it was compiled. Gradients do not flow through it."""

    def __init__(self, module: Any, model: Model, names: Sequence[str], structure: Any) -> None:
        super().__init__()
        self._parameters, self._buffers, self._modules = module._parameters, module._buffers, module._modules
        self.model, self._names, self._structure, self._of = model, tuple(names), structure, type(module).__name__
        self.training = False

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Runs the model, with the arguments and results of the original module's forward. A tensor that is not dense is copied."""
        if len(inputs) > len(self._names):
            raise BadInput(f"{len(inputs)} inputs are given: the module was compiled for {', '.join(self._names)}")
        given = dict(zip(self._names, inputs))
        for name, x in named.items():
            if name in given or name not in self._names:
                raise BadInput(f"input '{name}' is {'given twice' if name in given else 'none of the module'}: it takes "
                               f"{', '.join(self._names)}")
            given[name] = x
        # An input that the computation does not use is no input of the model.
        results = self.model(**{n: _dense(x) for n, x in given.items() if n in self.model.inputs})
        return _rebuild(self._structure, iter([_tensor(y, self.model.outputs[n].type) for n, y in results.items()]))

    def train(self, mode: bool = True) -> "CompiledModule":
        """Raises TctuneError: a compiled module is for inference. train(False) is allowed."""
        if mode:
            raise TctuneError(f"a compiled {self._of} is for inference: train the module that it was made of, and compile that "
                              f"again")
        return self

    def load_state_dict(self, *_: Any, **__: Any) -> Any:
        """Raises TctuneError: the weights are in the model."""
        raise TctuneError(f"the weights of a compiled {self._of} are in its library: load them into the module that it was made "
                          f"of, and "
                          "compile that again")

    def extra_repr(self) -> str:
        return repr(self.model)


def _dense(x: Any) -> Any:
    return x.detach().contiguous() if isinstance(x, torch.Tensor) else x


def _tensor(y: Any, kind: str) -> Any:
    if kind == "bf16":
        return torch.from_numpy(y.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(y)


# ---- what a module answers with ----


def _flatten(result: Any, found: List[Any], module: Any) -> Any:
    """The structure of a result, with None in place of each tensor; the tensors are appended to `found`."""
    if isinstance(result, torch.Tensor):
        found.append(result)
        return None
    if isinstance(result, Mapping):
        return dict, [(k, _flatten(v, found, module)) for k, v in result.items()]
    if isinstance(result, (list, tuple)):
        return type(result), [_flatten(v, found, module) for v in result]
    raise BadInput(f"module {type(module).__name__} answers with a {type(result).__name__}: a library can only give tensors, "
                   "and lists, tuples and dicts of them")


def _rebuild(structure: Any, tensors: Any) -> Any:
    if structure is None:
        return next(tensors)
    kind, parts = structure
    if kind is dict:
        return {k: _rebuild(p, tensors) for k, p in parts}
    values = [_rebuild(p, tensors) for p in parts]
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


# ---- exporting ----


def _input_names(module: Any, n: int) -> List[str]:
    """The names of forward's parameters."""
    names = [p.name for p in inspect.signature(module.forward).parameters.values()
             if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    return names[:n] if len(names) >= n else [f"input{i}" for i in range(n)]


def _in_module(module: Any, e: BaseException) -> str:
    """The submodule that raised the exception: ", in layers.1 (MyLayer)"."""
    names = {id(m): name for name, m in module.named_modules()}
    where, trace = "", e.__traceback__
    while trace is not None:
        of = trace.tb_frame.f_locals.get("self")
        if id(of) in names and trace.tb_frame.f_code.co_name == "forward" and names[id(of)]:
            where = f", in {names[id(of)]} ({type(of).__name__})"
        trace = trace.tb_next
    return where


def _module_of_operator(module: Any, args: Tuple[Any, ...], message: str) -> str:
    """The submodule with the operator that the exporter does not know; the message names the operator."""
    operator = re.search(r"\b(?:aten|prim|torchvision|quantized)::\w+", message)
    if not operator:
        return ""
    try:
        nodes = list(torch.jit.trace(module, args, check_trace=False, strict=False).inlined_graph.nodes())
    except Exception:  # pylint: disable=broad-except  # the first failure is the one to tell of
        return ""
    modules = dict(module.named_modules())
    for node in nodes:
        scope = node.scopeName().split("/")[-1]
        name = scope.split("__module.", 1)[-1] if "__module." in scope else ""
        if node.kind() == operator.group(0) and name in modules and name:
            return f", in {name} ({type(modules[name]).__name__})"
    return ""


def _export(module: Any, args: Tuple[Any, ...], path: str, names: Sequence[str], outputs: Sequence[str],
            dynamic_axes: Optional[Mapping[str, Any]]) -> None:
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, args, path, input_names=list(names), output_names=list(outputs), dynamic_axes=dynamic_axes)
    except Exception as e:
        where = _in_module(module, e) or _module_of_operator(module, args, str(e))
        why = str(e).strip() or type(e).__name__
        raise BadInput(f"module {type(module).__name__}{where} cannot be exported to ONNX: {why}") from e


def compile(module: Any, example_inputs: Any, *,  # pylint: disable=redefined-builtin
            dynamic_axes: Optional[Mapping[str, Any]] = None,
            onnx: Optional[Path] = None, trials: int = 0, minutes: float = 0, db: Optional[Path] = None, threads: int = 0,
            target: Optional[str] = None, accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None,
            shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False,
            opt_level: Optional[int] = None,
            disable_pass: Union[None, str, Iterable[str]] = None, dump_graph: Optional[str] = None, pass_times: bool = False,
            stop_at_roof: Optional[float] = None, batch: int = 0, rounds_at_once: Optional[int] = None, seed: int = 0,
            mode: Optional[Mode] = None, search: Optional[Search] = None, phases: Union[None, str, Iterable[str]] = None,
            start_from: Paths = None, deterministic_measure: bool = False, measure_peak: bool = False, fleet: FleetLike = None,
            tune_progress: TuneProgress = None, untuned: bool = False, error_budget: Optional[float] = None,
            inputs: Optional[Path] = None,
            fixed_inputs: FixedInputs = None,
            require_complete: bool = False, top_k_in_graph: int = 0, listing: Optional[Path] = None, team: Optional[Team] = None,
            only_to_save: bool = False,
            build_progress: BuildProgress = None) -> CompiledModule:
    """Compiles a torch.nn.Module.

    example_inputs: a tensor or a tuple of tensors, of the shapes that the module will be given.
    dynamic_axes: dimensions that vary, by the names of forward's parameters, as in torch.onnx.export: {"x": {0: "batch"}}. Their
        ranges are in shape: {"batch": "1..16"}.
    trials, minutes: the budget of a search. Without both, the records that the database has are used, or else default schedules.
    onnx: where to keep the ONNX file; None: nowhere.
    The other options are those of tctune.tune and tctune.build, which have their progress in tune_progress and build_progress.

    >>> import torch, tctune.torch
    >>> linear = torch.nn.Linear(8, 4)
    >>> fast = tctune.torch.compile(linear, torch.ones(2, 8), threads=1)
    >>> x = torch.randn(2, 8)
    >>> torch.allclose(fast(x), linear(x), atol=1e-5), list(fast.state_dict())
    (True, ['weight', 'bias'])
    """
    if not isinstance(module, torch.nn.Module):
        raise BadInput(f"tctune.torch.compile takes a torch.nn.Module, not a {type(module).__name__}")
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    for i, x in enumerate(args):
        if not isinstance(x, torch.Tensor):
            raise BadInput(f"example input {i} of module {type(module).__name__} is a {type(x).__name__}, not a tensor: put "
                           "fixed values into the module")
        if x.device.type != "cpu":
            raise BadInput(f"example input {i} of module {type(module).__name__} lies on {x.device}: libraries run on the CPU")
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        with tempfile.TemporaryDirectory(prefix="tctune-") as folder:
            path = os.fspath(onnx) if onnx is not None else os.path.join(folder, f"{type(module).__name__}.onnx")
            names = _input_names(module, len(args))
            structure, outputs = _run_once(module, args)
            _export(module, args, path, names, outputs, dynamic_axes)
            try:
                with Work(path, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                          disable_pass=disable_pass, dump_graph=dump_graph, pass_times=pass_times,
                          fixed_inputs=fixed_inputs) as work:
                    if trials or minutes:
                        tune(work, trials=trials, minutes=minutes, db=DEFAULT_DB if db is None else db, threads=threads,
                             target=target,
                             stop_at_roof=stop_at_roof, batch=batch, rounds_at_once=rounds_at_once, seed=seed, accuracy=accuracy,
                             precision=precision, mode=mode, search=search, phases=phases, start_from=start_from,
                             deterministic_measure=deterministic_measure, measure_peak=measure_peak, fleet=fleet,
                             progress=tune_progress)
                    model = build(work, db=db, untuned=untuned, threads=threads, target=target, accuracy=accuracy,
                                  precision=precision,
                                  error_budget=error_budget, inputs=inputs, require_complete=require_complete,
                                  top_k_in_graph=top_k_in_graph, progress=build_progress, listing=listing, team=team,
                                  only_to_save=only_to_save,
                                  last=True)
            except TctuneError as e:
                raise type(e)(f"module {type(module).__name__}: {e}") from e
    finally:
        for m, was_training in modes:
            m.training = was_training
    return CompiledModule(module, model, names, structure)


def _run_once(module: Any, args: Tuple[Any, ...]) -> Tuple[Any, List[str]]:
    """The structure of the module's result, and names for the tensors in it."""
    found: List[Any] = []
    try:
        with torch.no_grad():
            result = module(*args)
    except Exception as e:
        raise BadInput(f"module {type(module).__name__}{_in_module(module, e)} does not run on the example inputs: {e}") from e
    structure = _flatten(result, found, module)
    if not found:
        raise BadInput(f"module {type(module).__name__} answers with no tensor")
    return structure, [f"output{i}" for i in range(len(found))]

