"""Forms of local steps, M-steps, predictions and engines on a GPU (`supertopic.backends.cuda.forms`).

A form takes and returns what its original does. Where the original has an array of a row per word or document, the form
has a `Matrix` of the device, which stays there from step to step.
"""

from supertopic.inference.device import design, local, prediction, prediction_local  # noqa: F401
