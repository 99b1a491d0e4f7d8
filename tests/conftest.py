"""Fixtures that several tests ask for by name."""

import pytest

from storage import encoder
from tests import fake_encoder


@pytest.fixture
def words_model(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the fake model known in this process, and return its name."""
    monkeypatch.setitem(encoder.ENCODERS, fake_encoder.NAME, (lambda: fake_encoder.SPACE, fake_encoder.WordLengths))
    return fake_encoder.NAME
