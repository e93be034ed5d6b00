"""The dialects of AG-UI: one class for each, and the choice between them for each request."""
