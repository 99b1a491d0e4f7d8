"""Question patterns: how lines and columns mark questions and answers, in the supported languages."""

import re

_NUMBER = r"(?:[ \t]?\d{1,4})?[*_]{0,2}[ \t]?[:.)\uff1a\uff0e]"
_SIGNS = r"[ \t>*_#-]{0,8}"
QUESTION = re.compile(
    rf"{_SIGNS}(?:(?:Q|Question|Frage|Pregunta|Domanda|\u95ee|\u554f|\u8cea\u554f){_NUMBER}|[FP][ \t]?:)[*_ \t]*(?=\S)",
    re.IGNORECASE,
)
"""The start of a line that asks, up to the question itself: "Q:", "**Frage 3:**"."""
ANSWER = re.compile(
    rf"{_SIGNS}(?:A|Answer|Antwort|Réponse|Respuesta|R|Risposta|\u7b54|\u56de\u7b54){_NUMBER}", re.IGNORECASE
)
BOLD = re.compile(r"[ \t]{0,3}(?:\*\*|__)(?=[^*_\n]{3,300}[?\uff1f][ \t]*(?:\*\*|__)[ \t]*(?:[\r\n]|\Z))")
"""The start of a line that is a question in bold."""
QUESTIONS = re.compile(r"[\W_]*(?:questions?|q|fragen?|preguntas?|domand[ae]|prompt|query|faq)[\W_]*", re.IGNORECASE)
ANSWERS = re.compile(
    r"[\W_]*(?:answers?|a|antwort(?:en)?|réponses?|respuestas?|rispost[ae]|response|reply)[\W_]*", re.I
)
"""Column names."""
