"""Features that a run has only where they are declared."""
