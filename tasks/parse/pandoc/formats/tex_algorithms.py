r"""TeX algorithms: pseudo-code of `algorithmic`, `algpseudocode` and `algorithm2e`, whose commands pandoc drops.

Each command becomes its keyword at the start of a line, as TeX prints it; its arguments stay.
"""

import re

_ALGORITHM = re.compile(
    r"\\begin\s*\{(algorithm2e|algorithm\*?|algorithmic|algpseudocode)\}.*?\\end\s*\{\1\}", re.DOTALL
)
_WORDS = {
    "require": "Require:", "ensure": "Ensure:", "input": "Input:", "output": "Output:", "kwin": "Input:",
    "kwout": "Output:", "kwdata": "Data:", "kwresult": "Result:", "for": "for", "forall": "for all",
    "foreach": "for each", "while": "while", "if": "if", "eif": "if", "elsif": "else if", "elseif": "else if",
    "elif": "else if", "else": "else", "repeat": "repeat", "until": "until", "loop": "loop", "return": "return",
    "kwret": "return", "function": "function", "procedure": "procedure", "state": "", "statex": "",
}  # fmt: skip
_COMMAND = re.compile(rf"\\({'|'.join(sorted(_WORDS, key=len, reverse=True))})(?![A-Za-z])[ \t]*", re.IGNORECASE)
_END = re.compile(r"\\end(?:for|while|if|loop|function|procedure)(?![A-Za-z])|\\;", re.IGNORECASE)


def with_keywords(text: str) -> str:
    r"""Return a text whose algorithms have keywords in place of commands, such as "for" in place of `\For`."""
    return _ALGORITHM.sub(lambda found: _END.sub("", _COMMAND.sub(_in_words, found[0])), text)


def _in_words(command: re.Match[str]) -> str:
    word = _WORDS[command[1].lower()]
    return f"\n\n{word} " if word else "\n\n"
