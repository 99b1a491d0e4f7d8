"""Sentence words: replacements for the spaCy functions of `unstructured`, whose model it would download.

`unstructured` asks for the sentences and words of a text, and whether one of them is a verb. The answers only decide
what is narrative text, what a title, and what neither. Call `install` before the first import of
`unstructured.partition`.
"""

import re
import sys
from functools import lru_cache
from types import ModuleType

_KNOWN = 128  # texts: `unstructured` asks for the same one several times in a row, and never again
_SHORTEST = 5  # letters of a verb recognised by its ending: "wing", "shed" and "late" only look like one
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
# English verb endings, shared by many nouns; the common nouns are listed below.
_VERB_ENDINGS = ("ing", "ed", "ize", "izes", "ise", "ises", "ify", "ifies", "ate", "ates")
_NOT_VERB_WORDS = """
    thing things nothing something anything everything string strings king kings ring rings spring wing wings
    morning evening building ceiling during sibling red bed need seed feed speed hundred sacred naked wicked kindred
    indeed date dates rate rates state states private climate template templates candidate candidates certificate
    corporate estate gate gates late plate plates senate size sizes prize prizes exercise enterprise otherwise
    precise rise immediate appropriate accurate adequate separate ultimate approximate delegate duplicate
    intermediate
"""
_NOT_VERBS = frozenset(_NOT_VERB_WORDS.split())
_VERB_WORDS = """
    am is are was were be been being have has had having do does did done will would shall should can could may
    might must let go goes went gone come comes came get gets got make makes made take takes took taken see sees saw
    seen know knows knew known think thinks thought say says said tell tells told ask asks give gives gave given
    find finds found keep keeps kept leave leaves left mean means meant need needs want wants use uses used try
    tries show shows shown run runs ran write writes wrote written read reads put puts set sets send sends sent
    bring brings brought begin begins began begun become becomes became hold holds held stand stands stood
    understand understands understood hear hears heard feel feels felt pay pays paid meet meets met build builds
    built buy buys bought sell sells sold speak speaks spoke spoken spend spends spent lose loses lost win wins won
    grow grows grew grown draw draws drew drawn break breaks broke broken choose chooses chose chosen fall falls
    fell fallen eat eats ate eaten drive drives drove driven rise rises rose risen lead leads led teach teaches
    taught catch catches caught fight fights fought seek seeks sought throw throws threw thrown wear wears wore worn
    lie lies lay lain sit sits sat sleep sleeps slept open opens close closes start starts stop stops call calls
    work works live lives play plays turn turns move moves like likes love loves look looks help helps follow
    follows allow allows add adds change changes contain contains include includes provide provides require requires
    remain remains appear appears seem seems believe believes happen happens return returns continue continues
    create creates apply applies ensure ensures describe describes explain explains define defines support supports
    receive receives consider considers expect expects agree agrees please click clicks select selects enter enters
    install installs configure configures check checks ’s 's 're 've 'll
"""
_VERBS = frozenset(_VERB_WORDS.split())


@lru_cache(maxsize=_KNOWN)
def sent_tokenize(text: str) -> list[str]:
    """Return the sentences of a text."""
    from sentencex import segment

    return [sentence for sentence in segment("en", str(text)) if sentence.strip()]


@lru_cache(maxsize=_KNOWN)
def word_tokenize(text: str) -> list[str]:
    """Return the words and punctuation marks of a text."""
    return _WORD.findall(str(text))


@lru_cache(maxsize=_KNOWN)
def pos_tag(text: str) -> list[tuple[str, str]]:
    """Return each word with `VB` if it looks like an English verb, else `NN`."""
    return [(word, "VB" if _is_verb(word) else "NN") for word in word_tokenize(text)]


def _is_verb(word: str) -> bool:
    small = word.lower()
    if small in _VERBS or small.endswith(("n't", "n’t")):
        return True
    # A capital marks a name or a title: "Reading", "United".
    by_ending = len(small) >= _SHORTEST and small.endswith(_VERB_ENDINGS)
    return by_ending and small not in _NOT_VERBS and word[:1].islower()


def install() -> None:
    """Install these functions in `unstructured`."""
    name = "unstructured.nlp.tokenize"
    if getattr(sys.modules.get(name), "docmill", False):
        return
    if name in sys.modules:
        raise RuntimeError(f"{name} was imported before docmill's own functions took its place")
    module = ModuleType(name, __doc__)
    for function in (sent_tokenize, word_tokenize, pos_tag):
        setattr(module, function.__name__, function)
    module.__dict__["docmill"] = True
    sys.modules[name] = module
