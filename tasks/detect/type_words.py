"""Type words: words that indicate a content type, in English, German, French, Spanish and Italian, in lower case."""

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
"""Those that other fields have, too, such as programs: a handler terminates, and caller and callee are parties."""

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
