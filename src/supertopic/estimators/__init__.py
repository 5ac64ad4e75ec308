"""What users import: presets of emission, response, prior and engine."""
