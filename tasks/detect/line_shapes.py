"""Line shapes: patterns for the beginning of a line that tell the content type of a text.

Each is matched on a truncated line.
"""

import re

SPEAKER = re.compile(
    r"\[?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AP]M)?\]?[ \t,-]*(?:<[^<>\s]{1,30}>|\*{3}|={3}|[\w .'-]{1,30}:)"
    r"|<[^<>\s]{1,30}>[ \t]\S|\[[^\]\n]{6,30}\][ \t]*[\w .'-]{1,30}:[ \t]"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}, \d{1,2}:\d\d.{0,5} - [\w .'+-]{1,30}:[ \t]"
    r"|\*\*[\w .'-]{1,30}(?::\*\*|\*\*:|\*\*[ \t]*[\[(]\d)"
    r"|(?:user|assistant|human|system|bot|ai|chatgpt|me|you):[ \t]",
    re.IGNORECASE,
)
STAMP = re.compile(
    r"\W{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]|\d\d/\d\d/\d\d \d\d:|\d{1,2}[./]\d{1,2} \d\d:|\w{3} +\d{1,2} \d\d:\d\d:\d\d"
    r"|\w{3} \w{3} +\d{1,2} \d\d:|\d{6,10}[ .:]|(?:\S{1,60} ){1,3}\[\d{1,2}/\w{3}/\d{4}|- \d{10} )"
    r"|(?:\S{1,60} )?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b"
)
CUE = re.compile(r"(?:\d+:)?\d\d:\d\d[.,]\d{3}[ \t]+-->[ \t]")
TURN = re.compile(r"(?:[A-Z][A-Z .'-]{2,30}|[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,2})(?: \([^()\n]{1,40}\))?:[ \t]")
CLAUSE = re.compile(
    r"[ \t#*]*(?:\d{1,2}(?:\.\d{1,2}){1,3}\.?|\d{1,2}\.|(?:Section|Abschnitt|Ziffer) \d+|(?:Article|Artikel|Art\.) "
    r"[\dIVX]+|§+ ?\d+[a-z]?|(?:Cláusula|Clausola|Clause) \d+|\(\d{1,2}\)|\([a-z]\)|\([ivx]{1,4}\)|WHEREAS)[ \t*.]"
)
LAW = re.compile(
    r"[ \t]*(?:\*\*)?(?:\d{1,2}\.\d{1,2}(?:\.\d{1,2})?\.?|§+ ?\d+[a-z]?\.?|\([a-z]\)|\([ivx]{1,4}\)"
    r"|(?:Section|Article|Artikel) [\dIVX]+[.:]?)(?:\*\*)?[ \t]+[^\W\d_a-z]"
)
"""A clause with a number below that of its section; a version number has no sentence after it."""
SIGNATURE = re.compile(
    r"\#{1,6}[ \t].*\(.*\)|\#{1,6}[ \t].*`[\w.]+`|(?:SYNOPSIS|PARAMETERS|RETURNS)\b"
    r"|\.\. (?:function|class|method|py:\w+|attribute|option)::|:param |:returns?:|@param ",
    re.IGNORECASE,
)
PART = re.compile(
    r"[\W\d]*(syntax|parameters?|returns?(?: values?)?|arguments|synopsis|inputs?|outputs?|attributes|methods"
    r"|properties|exceptions|raises|remarks|requirements|examples?|see also|related links|options|signature)\W*$",
    re.IGNORECASE,
)
"""A typical heading of a reference page."""
DATA = re.compile(
    r"[ \t]*(?:[\"'\w.@/-]+[ \t]*[:=][ \t]*\S*|[\[\]{}(),]+|-[ \t]+\S+|\[[\w.\" -]+\]|</?\w[^<>]*>.*)[ \t,;]*$"
)
VERSION = re.compile(r"\bv?\d+\.\d+(?:\.\d+)*\b|\b(?:19|20)\d\d-\d\d(?:-\d\d)?\b|\bunreleased\b", re.IGNORECASE)
RULE = re.compile(r"---[ \t]*$")
TECHNICAL = re.compile(r"[(][)]|_[a-z]|(?<=[a-z])[A-Z]|[ \n]--?[a-z]|://|[.](?:py|js|sh|md|yml|json)\b|`(?=[^`\s])")
