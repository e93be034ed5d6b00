"""Tests of the OpenAI Responses adapter."""
