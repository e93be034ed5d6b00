"""An AG-UI server whose gated tools can be trusted."""
