"""As unload_caller.c, in Python: unload_caller.py LIBRARY NAME TIMES"""
import _ctypes
import ctypes
import sys
import time

path, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
x, y = ctypes.create_string_buffer(1 << 18), ctypes.create_string_buffer(1 << 18)
inputs, outputs = (ctypes.c_void_p * 1)(ctypes.addressof(x)), (ctypes.c_void_p * 1)(ctypes.addressof(y))
for _ in range(times):
    library = ctypes.CDLL(path)
    run = getattr(library, name + "_run")
    run.restype = ctypes.c_int32
    if run(inputs, outputs) != 0:
        sys.exit(4)
    _ctypes.dlclose(library._handle)
time.sleep(0.3)
print("lived")
