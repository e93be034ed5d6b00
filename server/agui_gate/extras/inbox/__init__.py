"""The live feed of approvals: `GET /approvals/events`."""
