"""supertopic info: what a model is, when it was fitted, to which data, and how good it was."""

from __future__ import annotations

from supertopic.cli import options as opt
from supertopic.cli.documents import load_model
from supertopic.cli.show import facts, say_json, show
from supertopic.plural import counted


def info(model: opt.ModelFile, as_json: opt.Json = False) -> None:
    """Say what MODEL is: its kind, size and target, the date and data of its fit, and its score out of fold.

    Two models with the same fingerprint of data learned from the same documents.
    """
    from supertopic.estimators.shared.results.telling import scores
    from supertopic.fitted.certainty.figures import LEFT_OUT

    fitted = load_model(model).fitted_
    found = {
        "model": fitted.spec.name,
        "inference": fitted.spec.inference,
        "topics": fitted.n_topics,
        "documents": fitted.n_seen,
        "vocabulary": fitted.vocabulary.n_words,
        "targets": {one.name: one.response for one in fitted.spec.schema.targets},
        "groups": fitted.notes.get("beside", {}).get("groups"),
        "times": fitted.notes.get("beside", {}).get("times"),
        "fitted": fitted.date or None,
        "data": fitted.data or None,
    }
    measured = scores(fitted)
    if as_json:
        say_json({**found, "scores": measured})
        return
    targets = ", ".join(f"{name} ({response})" for name, response in found["targets"].items())
    shown = {**found, "targets": targets}
    told = {name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in shown.items() if value}
    for name, one in measured.items():
        what = "right" if "right" in one else "explained"
        ends = f"({one['low']:.0%} to {one['high']:.0%})"
        told[name] = f"{one[what]:.0%} {what} {ends}, of {counted(one['documents'], 'document')}, {LEFT_OUT}"
    show(facts(told))
