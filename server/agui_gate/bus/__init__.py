"""Where the events of runs are kept, for the run's life and a while after."""
