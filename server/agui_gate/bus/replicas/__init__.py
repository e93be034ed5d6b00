"""What the buses for several processes have in common, whatever carries their frames."""
