"""What the papers report, measured again with this library: one module per experiment, `python -m experiments.NAME`."""
