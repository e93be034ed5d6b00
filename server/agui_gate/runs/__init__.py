"""Runs: from a request to its terminal event, and how they are stopped."""
