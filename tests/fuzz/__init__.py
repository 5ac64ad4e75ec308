"""Random inputs against the promises of SECURITY.md and docs/trust.md: a sentence or a result, and nothing else.

`python -m tests.fuzz.loader 1000000` tries model files, `tests.fuzz.inputs` matrices, labels, frames and data files,
`tests.fuzz.command_lines` command lines. `tests/test_fuzz.py` runs some of each in CI. A case is known by its number:
`--only NUMBER` tries it again, without the net.
"""
