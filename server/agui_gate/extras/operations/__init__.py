"""For who looks after a deployment: what everybody's threads and calls do, what can be done about them, its health."""
