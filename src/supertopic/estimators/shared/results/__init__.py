"""What users see of a fitted model: coefficients, explanations, tables, notebooks, help."""
