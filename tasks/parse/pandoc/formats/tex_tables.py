r"""TeX tables: environments of other packages, such as `tblr` and `NiceTabular`, rewritten as those of LaTeX."""

import re

_USUAL = {
    "tabulary": "tabularx", "xltabular": "tabularx", "supertabular": "tabular", "mpsupertabular": "tabular",
    "xtabular": "tabular", "mpxtabular": "tabular", "NiceTabular": "tabular", "NiceTabular*": "tabular*",
    "NiceTabularX": "tabularx",
}  # fmt: skip
_NAME = re.compile(rf"\\(begin|end)\s*\{{({'|'.join(map(re.escape, sorted(_USUAL, key=len, reverse=True)))})\}}")
_NICE = re.compile(r"(\\begin\{NiceTabular\}(?:\[[^\]]*\])?\{[^{}]*\})\s*\[[^\]]*\]")  # with options after the columns
_BRACED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_TBLR = re.compile(
    rf"\\begin\s*\{{(tblr|longtblr|talltblr)\}}\s*(\[(?:[^\[\]{{}}]|{_BRACED})*\])?\s*{_BRACED}(.*?)\\end\s*\{{\1\}}",
    re.DOTALL,
)
_CAPTION = re.compile(r"\bcaption\s*=\s*(?:\{([^{}]*)\}|([^,\]]*))")
_LOOKS = re.compile(
    r"\\(?:row|cell|column|arrayrule)color\*?(?:\[[^\]]*\])?\{[^{}]*\}(?:\[[^\]]*\])*"
    r"|\\rowcolors\*?(?:\[[^\]]*\])?(?:\{[^{}]*\}){3}|\\(?:SetCell|SetRow)(?:\[[^\]]*\])?\{[^{}]*\}"
)
_NOTE = re.compile(r"\\tnotex?\s*(\{[^{}]*\})")
_MAX_COLUMNS = 50


def with_usual_tables(text: str) -> str:
    """Return a source whose tables are in environments that pandoc knows, without the colours of their cells."""
    text = _NOTE.sub(r"\\textsuperscript\1", _LOOKS.sub("", text))
    text = _NAME.sub(lambda found: f"\\{found[1]}{{{_USUAL[found[2]]}}}", _NICE.sub(r"\1", text))
    return _TBLR.sub(_plain_table, text) if "tblr}" in text else text


def _plain_table(found: re.Match[str]) -> str:
    columns = min(max(row.count("&") for row in found[3].split("\\\\")) + 1, _MAX_COLUMNS)
    stated = _CAPTION.search(found[2] or "")
    caption = f"\n\n{stated[1] or stated[2]}\n\n" if stated else ""
    return f"{caption}\\begin{{tabular}}{{{'l' * columns}}}{found[3]}\\end{{tabular}}"
