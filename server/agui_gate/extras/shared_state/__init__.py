"""The state that a page and its agents share."""
