"""Refusals of parameters; labels and places that models learn beside topics."""
