"""Rows are paired by their places: frames whose indices hold the same labels in another order are refused."""

import numpy as np
import pandas as pd
import pytest

from supertopic import (
    LDA,
    DiscLDAClassifier,
    FacetedSAGE,
    GeoSAGE,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
    Stream,
    select_topics,
)
from supertopic.documents.rows import require_same_order

N = 24
TEXTS = pd.Series(["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 6, index=range(100, 124))
FRAME = pd.DataFrame({"age": np.arange(24.0), "kind": ["a", "b"] * 12}, index=TEXTS.index)
Y = pd.Series(np.tile([0.1, 1.0, 0.2, 0.9], 6) + 0.01 * np.arange(24), index=TEXTS.index)
PLACES = pd.DataFrame({"latitude": Y, "longitude": Y})
OTHER = np.random.default_rng(0).permutation(N)
QUICK = {"max_iter": 2, "inference": "vb"}


def slda():
    return SLDARegressor(2, cross_fit=0, **QUICK)


@pytest.mark.parametrize("name", ["y", "covariates", "metadata", "groups", "times", "sample_weight", "embeddings"])
def test_another_order_is_refused_in_one_sentence(name):
    given = {"y": Y, "covariates": FRAME[["age"]], "metadata": FRAME, "groups": FRAME["kind"], "times": FRAME["age"]}
    given |= {"sample_weight": Y, "embeddings": FRAME[["age"]]}
    one = given[name].iloc[OTHER]
    with pytest.raises(ValueError, match=rf"^{name}: its index holds the labels of X in another order.*{name}.reindex"):
        slda().fit(TEXTS, **{"y": Y, name: one})
    slda().fit(TEXTS, **{"y": Y, name: one.reindex(TEXTS.index)})


def test_what_is_no_other_order_is_taken():
    plain = TEXTS.reset_index(drop=True)
    for X, other in (
        (plain, FRAME.iloc[OTHER]), (plain.iloc[OTHER], FRAME.reset_index(drop=True)), (TEXTS.tolist(), FRAME),
        (TEXTS, FRAME.set_axis(range(500, 524))), (TEXTS, FRAME.reset_index(drop=True)), (TEXTS, FRAME.to_dict("list")),
        (TEXTS.to_frame(), FRAME), (TEXTS, FRAME[:12]), (TEXTS, None), (TEXTS, [1, 2]),
    ):  # fmt: skip
        require_same_order(X, metadata=other)
    with pytest.raises(ValueError, match="metadata: its index holds the labels of X"):
        require_same_order(TEXTS, metadata={"age": FRAME["age"].iloc[OTHER]})
    with pytest.raises(ValueError, match="metadata: its index holds the labels of y in another order"):
        require_same_order(TEXTS.tolist(), y=Y, metadata=FRAME.iloc[OTHER])


def test_all_that_pairs_documents_with_columns_asks():
    other, model = FRAME.iloc[OTHER], slda().fit(TEXTS, Y, covariates=FRAME[["age"]])
    kinds, words = FRAME["kind"], LDA(2, max_iter=2).fit(TEXTS)
    classes = SLDAClassifier(2, cross_fit=0, **QUICK).fit(TEXTS, kinds)
    stream = Stream.from_callable(lambda: iter([(TEXTS, Y, {"metadata": other})]))
    for ask in (
        lambda: LDA(2, max_iter=2).fit(TEXTS, metadata=other),
        lambda: LDA(2, inference="svi").partial_fit(TEXTS, metadata=other),
        lambda: SLDARegressor(2, inference="svi").partial_fit(TEXTS, Y.iloc[OTHER]),
        lambda: SLDARegressor(2, inference="svi", cross_fit=0).fit(stream),
        lambda: words.transform(TEXTS, metadata=other),
        lambda: words.estimate_effect("~ age", other, TEXTS),
        lambda: words.check(TEXTS, metadata=other),
        lambda: model.predict(TEXTS, covariates=other[["age"]]),
        lambda: model.score(TEXTS, Y.iloc[OTHER], covariates=FRAME[["age"]]),
        lambda: model.log_density(TEXTS, Y.iloc[OTHER], covariates=FRAME[["age"]]),
        lambda: model.report("never.html", TEXTS, Y, covariates=other[["age"]]),
        lambda: classes.score(TEXTS, kinds.iloc[OTHER]),
        lambda: SAGEClassifier(max_iter=2).fit(TEXTS, kinds.iloc[OTHER]),
        lambda: DiscLDAClassifier(2, max_iter=2).fit(TEXTS, kinds.iloc[OTHER]),
        lambda: FacetedSAGE(2, max_iter=2).fit(TEXTS, kinds.iloc[OTHER]),
        lambda: GeoSAGE(2, max_iter=2, n_regions=2).fit(TEXTS, PLACES.iloc[OTHER]),
        lambda: select_topics(slda(), TEXTS, Y.iloc[OTHER], n_topics=[2, 3]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="its index holds the labels of X in another order"):
            ask()
