"""How models are fitted: a Task that an engine turns into a Fit."""

from supertopic.backends.cuda.forms import give_forms


def _load_forms() -> None:
    from supertopic.inference import device  # noqa: F401 (it needs numba-cuda)


give_forms(_load_forms)
