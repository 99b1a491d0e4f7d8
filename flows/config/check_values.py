"""Check values that the settings model cannot check, such as names of strategies, before a run loads anything."""

from collections.abc import Callable, Iterator
from functools import partial

from docmill.flows.config.from_settings import model_of, readers_of, routes_of
from docmill.flows.config.key_lines import KeyPlace
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError, SourceError
from docmill.tasks.context.contextualizers import contextualizer_of
from docmill.tasks.sources.discover import wrong_settings
from docmill.tasks.split.strategies import options_of


def wrong_values(settings: Settings) -> Iterator[tuple[KeyPlace, str]]:
    """Yield the place of each wrong value in docmill.toml, and what is wrong with it."""
    for place, check in _checks(settings):
        try:
            check()
        except ConfigError as error:
            yield place, str(error)
    yield from _wrong_sources(settings)


def _wrong_sources(settings: Settings) -> Iterator[tuple[KeyPlace, str]]:
    try:
        yield from wrong_settings(settings.sources, settings.source)
    except (ConfigError, SourceError) as error:
        yield ("sources",), str(error)


def _checks(settings: Settings) -> Iterator[tuple[KeyPlace, Callable[[], object]]]:
    yield ("chunk", "contextualizer"), partial(contextualizer_of, settings.chunk.contextualizer)
    if settings.chunk.tokenizer:
        from docmill.tasks.counting.encodings import counting_folder  # which loads tokenizers

        yield ("chunk", "tokenizer"), partial(counting_folder, settings.chunk.tokenizer)
    yield ("model", "provider"), partial(model_of, settings)
    for number, reader in enumerate(settings.parse.readers):
        yield ("parse", "readers", number), partial(readers_of, (reader,))
    for strategy, values in settings.split.items():
        yield ("split", strategy), partial(options_of, strategy, values)
    for number, rule in enumerate(settings.routes):
        # One rule at a time, so that each wrong rule is reported with its own line.
        alone = settings.model_copy(update={"routes": (rule,), "split": {}})
        yield ("routes", number), partial(routes_of, alone)
