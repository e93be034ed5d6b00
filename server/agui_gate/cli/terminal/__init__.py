"""The terminal: what people see and type in it."""
