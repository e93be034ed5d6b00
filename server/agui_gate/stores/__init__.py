"""Where threads and approvals are kept. `base` has the Protocols; `open_store` makes one from its URL."""
