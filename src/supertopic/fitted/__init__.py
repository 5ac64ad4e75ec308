"""The fitted model as a value: what is fitted (Spec), what was found (Fitted), and what is asked of it.

    fit(spec, training, vocabulary, seed) -> Fitted        whole fits, and those of folds, members and pilots
    predict(fitted, corpus, covariates) -> Predicted

Estimators turn parameters into a Spec and show a Fitted to users; the page, plots, metrics and files read the Fitted.
"""
