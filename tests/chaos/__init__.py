"""Kills at random moments under load, and large crowds: `make chaos`. Seeded; not part of CI."""
