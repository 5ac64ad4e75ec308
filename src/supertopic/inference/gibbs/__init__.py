"""Gibbs sampling: of LDA, of a mixture, and with a response."""
