"""The parts that buses for several processes have in common, whatever carries their frames."""
