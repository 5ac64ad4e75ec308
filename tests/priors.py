"""Priors on topic shares for tests."""

from supertopic.priors.dirichlet import DirichletPrior


class FixedRows(DirichletPrior):
    """Each document's alpha is known beforehand, in a column `rows`."""

    def rows(self, alpha, documents):
        return documents.known["rows"]
