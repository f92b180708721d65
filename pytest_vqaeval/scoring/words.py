"""Words of English and Chinese text, as EvalScope's BLEU and ROUGE see them; offline and without writing a file.

English goes through nltk's word tokenizer sentence by sentence, because a full stop is a word of its own only at the
end of a sentence. `nltk.word_tokenize` finds sentences with a Punkt model that has to be downloaded; here the same
algorithm (Kiss and Strunk, Computational Linguistics 32(4), 2006) runs on a short list of what that model knows:
common abbreviations, and words that open a sentence even after one. Limits: of ordinary words the model also knows
which occur in lower case, here all do. So the stop of an initial before a name ("J. Smith") is a word of its own, where
the model leaves it on the initial.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache

from pytest_vqaeval.errors import MissingExtra

Tokenizer = Callable[[str], list[str]]

_CHINESE = re.compile("[\u4e00-\u9fa5]")

_ABBREVIATIONS = """
    adm ala ariz aug ave bros calif chg co col colo conn corp cos ct d dec dr e f feb fla fri ft g ga gen h ill inc
    jan jr k kan ky l lt ltd m maj messrs mg mich minn mr mrs ms n nev nov oct ok okla ore p pa ph.d prof r rep reps
    s sen sep sept sr st sw t tenn tues u.k u.n u.s u.s.a u.s.s.r v va vs vt w wash wed wis yr a.c a.d a.m c d.c l.a
    n.c n.d n.h n.j n.m n.y p.m r.i s.a s.c w.va
"""
# A capital after an abbreviation opens a sentence only with these.
_OPENERS = """
    according although among both but despite even he however i if in indeed instead it many meanwhile moreover most
    nevertheless nonetheless nor separately similarly since so some the there these they this though thus under when
    while yet
"""
_IN_BOTH_CASES = 1 << 2 | 1 << 5  # Punkt's flags: seen inside a sentence with a capital, and without


def is_chinese(text: str) -> bool:
    """EvalScope's test: one character from U+4E00 to U+9FA5 is enough."""
    return _CHINESE.search(text) is not None


def words(text: str) -> list[str]:
    """The words and punctuation marks of `text`.

    Raises:
        MissingExtra: nltk or jieba is not installed.
    """
    return chinese_tokenizer()(text) if is_chinese(text) else english_tokenizer()(text)


@lru_cache(maxsize=1)
def chinese_tokenizer() -> Tokenizer:
    """Segmentation by jieba and its own dictionary; spaces are words too.

    Raises:
        MissingExtra: jieba is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and pkg_resources, at import
        try:
            import jieba
        except ImportError as missing:
            raise MissingExtra("cutting Chinese text into words", "text") from missing
    tokenizer = jieba.Tokenizer()
    # What jieba's initialize() does, without its cache: that is a marshal file of a fixed name in the shared temporary
    # folder, which anybody may have put there. It costs a second per process.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return lambda text: list(tokenizer.cut(text))


@lru_cache(maxsize=1)
def english_tokenizer() -> Tokenizer:
    """The word tokenizer of nltk, after sentence splitting without a downloaded model.

    Raises:
        MissingExtra: nltk is not installed.
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    except ImportError as missing:
        raise MissingExtra("cutting English text into words", "text") from missing
    known = PunktParameters()
    known.abbrev_types.update(_ABBREVIATIONS.split())
    known.sent_starters.update(_OPENERS.split())
    known.ortho_context = defaultdict(lambda: _IN_BOTH_CASES)
    sentences = PunktSentenceTokenizer()
    sentences._params = known  # its argument is text to train on
    in_sentence = NLTKWordTokenizer()
    return lambda text: [word for sentence in sentences.tokenize(text) for word in in_sentence.tokenize(sentence)]
