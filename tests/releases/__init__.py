"""Databases as released versions wrote them, which this version opens."""
