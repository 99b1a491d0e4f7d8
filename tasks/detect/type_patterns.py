"""Type patterns: words and line beginnings that indicate a content type, in five languages, in lower case."""

import re

WORD = re.compile(r"[^\W\d_]{2,}|§")


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text))


LEGAL = _words(
    "shall hereby herein hereinafter thereof hereof hereunder hereto pursuant notwithstanding whereas indemnify"
    " indemnified indemnification warranty warranties liability liabilities governing termination terminate"
    " agreement party parties consent copyright privacy compliance obligation obligations jurisdiction third"
    " personal licensee licensor licensed disclaimer"
    " wherein thereto therein comprising embodiment embodiments invention claimed applicant"
    " § vertrag vertrages vertrags vertragspartei vertragsparteien vertragspartner auftraggeber auftragnehmer mieter"
    " vermieter käufer verkäufer haftung haftet haften gewährleistung schadensersatz kündigung kündigen gemäß absatz"
    " abs satz unverzüglich gerichtsstand bgb dsgvo datenschutz personenbezogene personenbezogenen rechtsgrundlage"
    " verpflichtet verpflichtung verpflichtungen vereinbarung bestimmung bestimmungen unwirksam schriftform"
    " contrat contractuelle clause clauses conformément résiliation responsabilité juridiction obligations"
    " soussigné prestataire stipulations présentes"
    " contrato contratante partes cláusula cláusulas responsabilidad rescisión obligaciones jurisdicción conforme"
    " contratto clausola clausole responsabilità obblighi recesso risoluzione giurisdizione parti"
)

ALSO_PLAIN = LEGAL & _words(
    "shall termination terminate agreement party parties third invention claimed applicant"
    " satz absatz abs clause clauses obligations partes parti conforme"
)
"""Legal words that other fields use as well: in programming, a handler terminates, and a caller is a party."""

LEGAL_NAME = re.compile(
    r"\b(?:privacy|terms|agreement|contract|licen[cs]e|polic(?:y|ies)|code of conduct|conditions"
    r"|datenschutz\w*|\w*vertrag|AGB|geschäftsbedingungen|contrat|contrato|contratto|conditions générales)\b",
    re.IGNORECASE,
)
"""Names of legal documents."""

TOLD = _words(
    "said asked cried replied whispered he she him her his was had were we our my"
    " sagte fragte rief erwiderte flüsterte er sie ihm ihn ihr sein seine war waren hatte hatten wir uns"
    " dit demanda répondit il elle lui était avait nous notre"
    " dijo preguntó él ella era había estaba nosotros"
    " disse chiese egli lei aveva erano noi"
)

FAQ = re.compile(
    r"\bFAQs?\b|frequently asked|häufig(?:e|\sgestellte)\sfragen|foire aux questions|preguntas frecuentes"
    r"|domande frequenti|常见问题|常見問題|よくある(?:ご)?質問|자주 묻는 질문|الأسئلة الشائعة|अक्सर पूछे जाने वाले",
    re.IGNORECASE,
)
ASKED = re.compile(r"[?\uff1f]\W*$")
MAIL_HEADER = re.compile(
    r"(From|To|Cc|Subject|Date|Sent|Reply-To|Message-ID|Von|An|Betreff|Gesendet|Datum|De|À|Objet|Envoyé|Para|Asunto"
    r"|Enviado|Da|A|Oggetto|Inviato):[ \t]+\S",
    re.IGNORECASE,
)
_WROTE = r"(?:On|Am|Le|El|Il)\b.{5,120}\b(?:wrote|schrieb|a écrit|escribió|ha scritto)\b.{0,80}:$"
MAIL_WROTE = re.compile(_WROTE)
MAIL_QUOTED = re.compile(rf"[ \t]*>|{_WROTE}")


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
"""A clause numbered below its section; unlike a version number, it is followed by a sentence."""
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
