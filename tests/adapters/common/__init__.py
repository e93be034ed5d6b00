"""Tests of what adapters have in common."""
