"""Fleets for the tests that say which replica they speak to."""

import pytest

from tests.replicas.stage import Stage


@pytest.fixture(params=["3:postgres", "3:postgres+valkey"])
def stage(request: pytest.FixtureRequest) -> Stage:
    """Three replicas, on PostgreSQL alone and with Valkey as bus."""
    return Stage.called(request.param, request)
