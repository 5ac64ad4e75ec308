"""What users give, as models take it: labels, covariates, names, sentences, places."""
