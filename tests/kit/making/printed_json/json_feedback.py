"""The fields of what `--json` prints about judgements, logged queries and learned settings, as in `json_fields`."""

from typing import NamedTuple


class Printed(NamedTuple):
    """What a command prints: an object, or an array of objects."""

    about: str
    fields: str


_FREQUENT = """\
query | text | the query, as it was written last
times | integer | how often it was asked
first | text | when it was asked first (ISO 8601, UTC)
last | text | when it was asked last
snapshot | integer | snapshot that answered last
hits | integer | hits that it had then
relevance | number or null | relevance of the best hit then
confidence | number or null | confidence of the best hit then
"""
_GAP = "".join(f"queries[].{line}\n" for line in _FREQUENT.splitlines())
_LEARNED = """\
change_id | text | id
created | text | when it was decided, or taken back (ISO 8601, UTC)
state | text | `adopted`, `kept`, `held back` by the gate, or `taken back`
content_type | text | content type whose route is meant; empty for all
what | text | choice of one half of the judged queries
before | text | the setting before, as TOML; empty if the file had none
after | text | the setting that was preferred, as TOML; empty if it was kept
questions | integer | judged queries that decided; others chose the setting
gain | number | mean gain over these
low | number | lower end of its 95 % interval
high | number | upper end of it
wanted | integer or null | about how many more judged queries would decide
snapshot | integer | snapshot whose documents were tried
judged | text | equal for equal sets of judged queries
evidence | text | the measure and the trials with their means, as JSON
"""
_JUDGEMENT = """\
judgement_id | text | id, equal for later judgements of the same person, passage and query
created | text | when it was judged (ISO 8601, UTC)
query | text | the query
verdict | text | `right` or `wrong` of a hit, `answer` of a quoted passage, `absent` if nothing answers
judged_by | text | name of the person who judged
uri | text | document of the passage at that time, or empty
start_char | integer or null | where the passage began then
end_char | integer or null | where it ended then, exclusive
quotation | text | text of the passage
content_hash | text | hash of the document's file at that time
snapshot | integer | snapshot that was judged
note | text | what the person wrote about it"""
FEEDBACK = {
    "judge list": Printed("an array: an object for each judgement that counts", f"""\
{_JUDGEMENT}
state | text | `found`, `moved` to another document, `changed` in part, `lost`, or `absent` if nothing answers
now | object or null | where its passage is now; null if it is lost
now.uri | text | the document
now.start_char | integer | where it starts
now.end_char | integer | where it ends, exclusive
disputed | boolean | whether another person judged otherwise
"""),
    "judge add": Printed("one object", _JUDGEMENT),
    "judge withdraw": Printed("an array: the judgements as they were", _JUDGEMENT),
    "judge export": Printed("one object", """\
file | text | the file that was written
questions | integer | questions in it
judgements | integer | judgements that count
lost | integer | of them, those whose passage no document has any more
"""),
    "queries list": Printed("an array: an object for each logged query, the most frequent first", _FREQUENT),
    "queries gaps": Printed("an array: an object for each group of queries without a good answer", f"""\
words | array of text | words that most of its queries share
times | integer | how often they were asked together
queries | array of object | its queries
{_GAP}"""),
    "queries clear": Printed("one object", "removed | integer | logged queries that were removed\n"),
    "replay": Printed("an array: an object for each query, the most moved first", """\
query | text | the query
times | integer | how often it was asked; 1 if it was given
same | boolean | whether both snapshots have the same hits in the same order
kept | number | share of the documents found before that are found after
entered | array of text | documents that only the later snapshot finds
left | array of text | documents that only the earlier one finds
first | array of text | document of the first hit before and after; empty without a hit
relevance | array of number or null | relevance of the best hit before and after
confidence | array of number or null | confidence of the best hit before and after
"""),
    "learn run": Printed("an array: an object for each decision of this run", _LEARNED),
    "learn list": Printed("an array: an object for each decision, oldest first", _LEARNED),
    "learn undo": Printed("one object: the change that was taken back", _LEARNED),
}  # fmt: skip
