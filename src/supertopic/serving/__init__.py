"""Predictions without what fits a model: NumPy alone, no compiler. `supertopic.predictor` has the value."""
