#!/usr/bin/python3
"""What howto/varying-sizes.md says that the reader has: a small network with a symbolic size. symbolic.py MODEL.onnx"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = numpy_helper.from_array(np.random.default_rng(0).standard_normal((64, 96), dtype=np.float32), "w")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], "layer",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["sequence", 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["sequence", 96])], [weights])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
