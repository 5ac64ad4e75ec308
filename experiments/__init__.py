"""Reproductions of the papers' results with this library, `python -m experiments --list`."""
