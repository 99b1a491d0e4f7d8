"""Units: the types of the numbers in the settings, each with what it counts, which the reference says."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts."""

    name: str


Bytes = Annotated[int, Unit("bytes")]
Seconds = Annotated[float, Unit("seconds")]
Minutes = Annotated[float, Unit("minutes")]
Hours = Annotated[float, Unit("hours")]
Days = Annotated[float, Unit("days")]
Megabytes = Annotated[int, Unit("megabytes")]
Dimensions = Annotated[int, Unit("dimensions")]
Tokens = Annotated[int, Unit("tokens")]
Share = Annotated[float, Unit("from 0 to 1")]
Processes = Annotated[int, Unit("processes")]
Characters = Annotated[int, Unit("characters")]
Files = Annotated[int, Unit("files")]
Times = Annotated[float, Unit("times")]
Levels = Annotated[int, Unit("levels")]
Calls = Annotated[int, Unit("calls")]
Tries = Annotated[int, Unit("tries")]
Money = Annotated[float, Unit("in the currency of `prices`")]
Hits = Annotated[int, Unit("hits")]
Queries = Annotated[int, Unit("queries")]
Snapshots = Annotated[int, Unit("snapshots")]
