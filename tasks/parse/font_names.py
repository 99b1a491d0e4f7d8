"""Font names: which fonts have letters of one width, as code is set in."""

import re

MONOSPACED = re.compile(
    r"mono(?!type)|courier|consol|menlo|monaco|typewriter|inconsolata|(?:source|fira) ?code|fixed|nimbusmon"
    r"|(?:letter|book ?master) ?gothic|(?:cm|sf|l|x)tt",
    re.IGNORECASE,
)
