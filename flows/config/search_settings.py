"""Search settings: turn settings into options of searches and of the query log, without imports that only runs need."""

from typing import cast

from docmill.flows.config.settings import SearchSettings
from docmill.flows.config.store_settings import QueriesSettings
from docmill.storage.search.rank.candidates.search_options import SearchArguments
from docmill.storage.snapshots.history.query_log import LogBounds


def how_of(chosen: SearchSettings, **given: object) -> SearchArguments:
    """Return the search options by name: those given for one search, or, if None, those of the settings."""
    settings = chosen.model_dump(exclude={"cache", "cache_alike"})
    own = {name: value for name, value in given.items() if value is not None}
    return cast(SearchArguments, settings | own)


def log_bounds_of(chosen: QueriesSettings) -> LogBounds:
    """Return how long logged queries are kept, and how many."""
    return LogBounds(chosen.keep_days, chosen.most)
