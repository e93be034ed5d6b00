"""One module a command, each imported when it is used (see `program`)."""
