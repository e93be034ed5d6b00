"""The protocol edge: AG-UI in and out, without I/O."""
