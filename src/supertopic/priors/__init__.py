"""Priors on the topic shares of documents: a contract and a file each."""
