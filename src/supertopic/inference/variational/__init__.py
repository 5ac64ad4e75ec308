"""Variational inference: the local step, its E-steps, the M-steps, and the engines around them."""
