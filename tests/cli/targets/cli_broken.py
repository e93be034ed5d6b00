"""A module that can't be imported."""

raise RuntimeError("nothing works today")
