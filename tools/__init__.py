"""What makes parts of the repository from other parts of it."""
