"""What a user of the Python package does first: builds a network with the records of a database, runs it, and compares."""
import numpy
import tctune

with tctune.build("mlp.onnx", db="tuning.db", threads=1) as model:
    inputs = {name: numpy.ones(port.shape, port.dtype) for name, port in model.inputs.items()}
    outputs = model(**inputs)
with tctune.build("mlp.onnx", untuned=True, threads=1) as model:
    other = model(**inputs)
for name, value in outputs.items():
    numpy.testing.assert_allclose(value, other[name], rtol=1e-3, atol=1e-5)
print("from Python:", ", ".join(f"{name} {value.shape}" for name, value in outputs.items()), "of tctune", tctune.library_version())
