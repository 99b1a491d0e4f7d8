"""Source settings: the model that connectors and plugins extend; only their sources load pydantic."""

from pydantic import BaseModel, ConfigDict, Field

WATCH_S = "How often `docmill watch` asks for changes, in seconds; 0 takes --poll."
"""The description of `watch_s`, for which a kind of source may have another default."""


class SourceSettings(BaseModel):
    """The settings of a source, extended by each plugin: a frozen pydantic model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    watch_s: float = Field(default=0.0, ge=0, description=WATCH_S)
