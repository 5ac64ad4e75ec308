"""What is known of documents, and how it comes in: words, labels, covariates, names; from memory, files and streams."""
