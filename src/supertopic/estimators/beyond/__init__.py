"""Models outside the grid: each has an engine of its own, behind the hooks that a model of a user has as well."""
