"""supertopic: topics that predict."""
