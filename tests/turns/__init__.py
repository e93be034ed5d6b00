"""One turn of the model: its request, its steps, its record."""
