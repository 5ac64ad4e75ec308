"""How sure a softmax is: a document's linear predictors are divided by a heat that grows with their spread.

A document about few topics has linear predictors that lie far apart, whether its topics tell the class or not. One
slope for all documents (`supertopic.inference.after.calibration`) is too steep for such documents, and too flat for the
others. Two numbers mend it: with m the logarithms of the classes' shares,

    s' = m + (s - m) / T,      T = level · r^power,      r = the standard deviation of s_c - m_c over the classes

They maximise the likelihood of labels of documents that the fit has not seen (`tempering`). A document about which
topics say nothing has the shares of the classes, whatever T is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.fitted.certainty.tempering import fit_temperature
from supertopic.fitted.fitted import Fitted
from supertopic.responses.several import Part
from supertopic.responses.temperature import LEAST_SPREAD, Evidence, Temperature, cooled


def with_heat(fitted: Fitted, y: np.ndarray, score: np.ndarray) -> Fitted:
    """With level and power of every softmax, from predictors of documents whose y took no part in them."""
    heat, zero = [], np.zeros(score.shape[1])
    for _, part in fitted.spec.parts:
        found = Temperature()
        if part.response.name == "softmax":
            labels = part.labels(y)
            known = ~np.isnan(labels)
            codes = labels[known].astype(np.intp)
            zero[part.columns] = _log_shares(codes, part.response.n_classes)
            found = _fit(score[known][:, part.columns], zero[part.columns], codes)
        heat.append(found)
    if all(found == Temperature() for found in heat):
        return fitted.with_certainty(heat=None, zero=None)
    return fitted.with_certainty(heat=np.array(heat)[:, :2], zero=zero)


def heated(fitted: Fitted, score: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E[s'], E[s'²] or E[exp s']), each (D, C); those of other responses are the ones given."""
    heat, zeros = fitted.certainty.heat, fitted.certainty.zero
    if heat is None or zeros is None:
        return score, moment
    return cooled([part for _, part in fitted.spec.parts], heat, zeros, score, moment)


def described_heat(fitted: Fitted, place: int, part: Part) -> dict[str, Any] | None:
    """The heat of response number `place` for programs that predict without Python; None where there is none."""
    heat, zero = fitted.certainty.heat, fitted.certainty.zero
    if heat is None or zero is None or part.response.name != "softmax":
        return None
    level, power = map(float, heat[place])
    return {"level": level, "power": power, "zero": zero[part.columns].tolist(), "least_spread": LEAST_SPREAD}


def _log_shares(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(C,) of the classes, none of them zero, less their mean."""
    logs = np.log(np.bincount(codes, minlength=n_classes) + 0.5)
    return logs - logs.mean()


def _fit(score: np.ndarray, zero: np.ndarray, codes: np.ndarray) -> Temperature:
    """Level and power, if the likelihood gains enough for two numbers by Schwarz's criterion: ½ log n for each."""
    evidence = Evidence(score - zero, zero)
    found = fit_temperature(evidence, codes, weigh=False)
    gain = found.log_likelihood(evidence, codes) - Temperature().log_likelihood(evidence, codes)
    return found if gain > np.log(len(codes)) else Temperature()
