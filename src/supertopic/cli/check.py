"""supertopic check: where new documents lie outside what the fit of a model has seen."""

from __future__ import annotations

from dataclasses import asdict

import typer

from supertopic.cli import options as opt
from supertopic.cli.compare import CHANGED
from supertopic.cli.documents import load_model, read_documents
from supertopic.cli.learning import covariates_for, covariates_of, metadata_seen
from supertopic.cli.show import prose, say_json


def check(
    model: opt.ModelFile,
    data: opt.Data,
    text: opt.TextColumn = None,
    covariates: opt.Covariates = "",
    encoding: opt.Encoding = "utf-8",
    as_json: opt.Json = False,
) -> None:
    """Say where the documents of DATA lie outside what the fit of MODEL has seen, and exit with 3 where some do.

    It compares lengths, words, covariates, and those columns of the fit's metadata that DATA has.

    For example, before predictions are used: supertopic check stars.supertopic week.csv || mail -s "other reviews" me
    """
    fitted = load_model(model)
    names, kept = covariates_for(fitted, covariates), fitted.fitted_.notes.get("metadata", {})
    documents, cells, _ = read_documents(data, text, names, list(kept), encoding=encoding)
    given = covariates_of(fitted, cells, names)
    found = fitted.check(documents, covariates=given, metadata=metadata_seen(cells, kept))
    if as_json:
        say_json({"ok": found.ok, "documents": found.n_documents, "shifts": [asdict(one) for one in found.shifts]})
    else:
        for sentence in found.sentences:
            prose(sentence)
    if not found.ok:
        raise typer.Exit(CHANGED)
