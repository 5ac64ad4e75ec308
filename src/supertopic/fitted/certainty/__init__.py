"""What is said about certainty, from documents that a fit has not seen, or from several chains."""
