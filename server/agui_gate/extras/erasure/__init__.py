"""Erasing a person: their threads go, and their name in what belongs to others becomes a pseudonym."""
