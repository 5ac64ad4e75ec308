"""Comparisons with other libraries on the same matrix, with the same priors and scorer. `python -m bench --help`."""
