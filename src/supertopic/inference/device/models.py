"""Which models have a form on the device."""

from __future__ import annotations

from supertopic.backends.cuda.arrays import MOST_TOPICS
from supertopic.backends.cuda.forms import no_form
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.device.emission import DeviceTopics
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.m_step_margin import MarginStep
from supertopic.model import Model, NoCoefStep
from supertopic.responses.margin import MaxMargin


def check_model(model: Model) -> None:
    """Refuse a model of which some part has no form on the device."""
    if type(model.emission) not in (DirichletTopics, DeviceTopics):
        raise no_form(f"the emission {model.emission.name!r}")
    if model.one_topic:
        raise no_form("documents of one topic each")
    if model.per_token:
        raise no_form("per_token=True")
    if not isinstance(model.coef_step, NoCoefStep | GLMStep | MarginStep):
        raise no_form(f"coefficients by {type(model.coef_step).__name__}")
    if isinstance(model.response, MaxMargin) and model.response.likelihood:
        raise no_form("a likelihood beside a margin (likelihood='lda' has none)")
    if model.n_topics > MOST_TOPICS:
        raise no_form(f"more than {MOST_TOPICS} topics")
