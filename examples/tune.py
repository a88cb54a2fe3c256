"""Tunes a network, builds it, runs it, and prints what its kernels take: tune.py NETWORK.onnx TRIALS"""
import sys
import numpy
import tctune
tctune.tune(sys.argv[1], trials=int(sys.argv[2]))
with tctune.build(sys.argv[1]) as model:
    inputs = {name: numpy.zeros(port.shape, port.dtype) for name, port in model.inputs.items()}
    print({name: array.shape for name, array in model(**inputs).items()})
    print(model.profile(**inputs))
