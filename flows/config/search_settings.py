"""Search settings: the search options of the settings, without the imports that only a run needs."""

from typing import cast

from docmill.flows.config.settings import SearchSettings
from docmill.storage.retrieval.candidates.search_options import SearchArguments


def how_of(chosen: SearchSettings) -> SearchArguments:
    """Return the search options by name."""
    return cast(SearchArguments, chosen.model_dump())
