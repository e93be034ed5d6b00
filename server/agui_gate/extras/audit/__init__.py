"""The audit trail for people: who reads it and in which form, and the keys by which it is signed."""
