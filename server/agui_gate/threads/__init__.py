"""Threads while they are worked on: leases, limits, and what a request adds to them."""
