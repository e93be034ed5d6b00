"""Hours of everyday work with a replica that is killed every few minutes: does anything grow? `make soak`."""
