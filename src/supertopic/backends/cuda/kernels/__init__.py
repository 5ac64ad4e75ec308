"""Kernels of numba-cuda, named by what they compute; each has the equations of the CPU kernel of the same name."""
