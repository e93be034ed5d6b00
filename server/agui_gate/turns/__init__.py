"""Turns of the model: what is asked, what is recorded, and how its tool calls run."""
