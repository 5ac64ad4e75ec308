"""A new engine is one class: topics are the clusters of tf-idf rows, and nothing refines them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer

from supertopic import LDA
from supertopic.datasets import simulate
from supertopic.inference.loop import Engine
from supertopic.inference.requirements import one_process
from supertopic.inference.settings import EMSettings
from supertopic.inference.settings import Engine as Choice
from supertopic.inference.task import Fit
from supertopic.metrics import align_topics
from supertopic.model import State


class Clusters(Engine):
    requires = (one_process("a clustering"),)

    def start(self):
        task, n_topics = self.task, self.task.model.n_topics
        clusters = KMeans(n_topics, n_init=4, random_state=task.seed)
        members = np.eye(n_topics, dtype=np.float32)[
            clusters.fit_predict(TfidfTransformer().fit_transform(task.counts))
        ]
        topics = task.model.emission.first(np.ascontiguousarray(task.counts.T @ members), task.backend)
        self.state = State.first(task.model, topics)

    def step(self):
        raise AssertionError("nothing refines the clusters")

    def has_ended(self):
        return True

    def result(self):
        return Fit(self.state, self.trace, self.done)


@dataclass(kw_only=True, eq=False, repr=False)
class ClusteredLDA(LDA):
    engines: ClassVar = {**LDA.engines, "clusters": Choice(Clusters.fit, EMSettings, 1)}

    n_topics: int = 20
    inference: str = "clusters"


@pytest.fixture(scope="module")
def documents():
    return simulate(n_documents=300, n_topics=3, n_words=60, mean_length=60, doc_topic_prior=0.05, seed=2)


def test_it_finds_topics_and_infers_shares(documents):
    model = ClusteredLDA(n_topics=3, random_state=1).fit(documents.counts)
    assert model.n_iter_ == 0 and len(model.bound_) == 0
    order = align_topics(documents.components, model.components_)
    order = getattr(order, "order", order)
    assert np.abs(model.components_[order] - documents.components).sum(axis=1).max() < 0.5
    np.testing.assert_array_equal(model.transform(documents.counts), model.doc_topic_)


def test_what_it_requires_is_asked_before_any_work(documents):
    class Elsewhere:
        remote = True

    class Task:
        backend = Elsewhere()

    with pytest.raises(ValueError, match="a clustering runs in one process"):
        Clusters.fit(Task(), None)
