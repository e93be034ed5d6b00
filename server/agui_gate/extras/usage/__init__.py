"""Keeps what requests to models use, and holds runs to their budgets: `AGUI_GATE_USAGE`, `AGUI_GATE_BUDGETS`."""
