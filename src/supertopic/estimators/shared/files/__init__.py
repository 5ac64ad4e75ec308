"""What a model file holds, and what is checked when it is read."""
