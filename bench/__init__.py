"""Supertopic beside other libraries: same matrix, same priors, same scorer, same run. `python -m bench --help`."""
