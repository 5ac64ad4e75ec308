"""A file per plot; each takes `ax=`, and returns the Axes that it has drawn on."""
