"""The fields of what `--json` prints: the path of each, its type, and its meaning.

A path names the keys from the outside in; `[]` is an element of an array, `*` any key. A row without a meaning takes
that of the column or the attribute of its last name (`json_meanings`). What the samples lack has a type and a meaning
here, too, such as `gate.metric` of a store without a gate.
"""

from tests.kit.making.printed_json.json_feedback import FEEDBACK, Printed

_INTERVAL = """\
{0}.mean | number | the mean over the questions
{0}.low | number | lower end of its 95 % interval
{0}.high | number | upper end of it
"""
_REPORT = f"""\
snapshot | integer or null |
documents.added | integer | documents that are new
documents.changed | integer | documents whose content changed
documents.moved | integer | documents with another uri and the content of one that is gone
documents.deleted | integer | documents whose file is gone
documents.unchanged | integer | documents that cost no work
documents.rejected | integer | files that cannot be used
documents.stale | integer | documents whose file can no longer be used, kept as they were
chunks.added | integer | chunks that are new
chunks.kept | integer | chunks that stay
chunks.removed | integer | chunks that are gone
parsed | integer |
embedded | integer |
tokens_embedded | integer |
rechunked | array of text |
model.calls | integer | calls of the language model; `model` is empty without one
model.failed | integer | calls without an answer
model.refused | integer | calls whose answer cannot be used
model.input | integer | tokens of the prompts
model.cached | integer | of these, tokens that the provider read from its cache
model.output | integer | tokens of the answers
model.money | number | cost by `[model.prices]`, if set
model.left | integer | prompts that a limit left out, if any
model_reason | text | why calls failed or were refused
embedding.calls | integer | requests to an embedding model by API; `embedding` is empty without one
embedding.input | integer | tokens of their texts; in a plan the most that they can be
embedding.money | number | cost by the `price` of `[embedding]`, if set
embedding.left | integer | chunks that a limit left without vectors, if any
ocr.pages | integer | pages that OCR has read, or would read
ocr.minutes | number | minutes of one process for their documents; in a plan those that it took itself
ocr.figures | integer | figures whose words it has read, or would
pictures.embedded | integer | pictures that got vectors, or would
pictures.model | text | their model
pictures.input | integer | tokens that a model by API counted; in a plan, at most
pictures.money | number | what these cost by pictures_price
candidate | text |
gate.metric | text | the measure that the gate compares; `gate` is empty without one
gate.questions | integer | number of its questions
gate.before | number | the measure of the snapshot before
gate.after | number | the measure of the new snapshot
{_INTERVAL.format("gate.change")}gate.max_drop | number | the drop that `[gate] max_drop` allows
pending | integer |
lost_text | integer |
unreached[].source | text | the name of a source that could not be reached
unreached[].message | text | why
sources[].source | text | name of a source that the run had
sources[].listed | integer | its items
sources[].listed_bytes | integer | their bytes, as far as the source tells them
sources[].fetched | integer | items that were fetched; a plan fetches them, too, and keeps none
sources[].fetched_bytes | integer | their bytes
sources[].far | boolean | whether items have to be fetched; a folder is read where it is
seconds.* | number | wall-clock seconds of each step
"""
_CHUNK = """\
splits[].chunks[].start_char | integer |
splits[].chunks[].end_char | integer |
splits[].chunks[].text | text |
splits[].chunks[].context | text |
splits[].chunks[].headings | array of text |
splits[].chunks[].page | integer or null |
splits[].chunks[].line | integer |
splits[].chunks[].content_type | text |
splits[].chunks[].strategy | text |
splits[].chunks[].tokens | integer |
splits[].chunks[].role | text |
splits[].chunks[].depth | integer |
splits[].chunks[].above | integer |
splits[].chunks[].note | text |
splits[].chunks[].window_start | integer |
splits[].chunks[].window_end | integer |
splits[].chunks[].context_state | text |
splits[].chunks[].about_start | integer |
splits[].chunks[].about_end | integer |
splits[].chunks[].parts | array of integer |
splits[].chunks[].unread | array of integer |
splits[].chunks[].phrasings | array of text |
"""
_DOCUMENT = """\
{0}uri | text | name of the document, which `docmill show` takes
{0}source | text |
{0}title | text |
{0}format | text |
{0}content_type | text |
{0}language | text |
{0}lang | text |
{0}author | text |
{0}created | text |
{0}modified | text |
{0}created_stated | text |
{0}modified_stated | text |
{0}characters | integer |
{0}size | integer |
{0}chunks | integer |
{0}status | text |
{0}parent | text |
{0}reader | text |
{0}source_url | text |
{0}warnings | array of text |
"""
_CHANGES = """\
{0}[].kind | text | `added`, `removed`, `changed` or `moved`
{0}[].before | text or null | what it was: a uri, or a chunk as `uri[start:end]`; null if added
{0}[].after | text or null | what it is; null if removed
{0}[].text | array of text | lines of a unified diff of a changed chunk, with `--text`
"""
_SOURCE_RUN = """\
{0}source | text | name of a source
{0}address | text | its address or path
{0}kind | text | what it is
{0}listed | integer | items that the last run listed that had it
{0}listed_bytes | integer | their bytes, as far as the source tells them
{0}fetched | integer | items that this run fetched
{0}fetched_bytes | integer | their bytes
{0}succeeded | text | when this run ended (ISO 8601, UTC); empty if there was none
{0}failed | text | when a run last lacked the source, empty unless the last one did
{0}message | text | why
"""
_COMPACTION = """\
removed | array of integer | numbers of the snapshots that were removed, or with `--dry-run` would be
bytes | integer | bytes that this frees
snapshot | integer or null | the snapshot that was committed
damaged | array of integer | snapshots that are damaged; every file that they may need has stayed
"""
_MEASURES = """\
measure | text | its name
value | number | its mean
low | number | lower end of the 95 % interval
high | number | upper end of it
of | integer | number of values that the mean is of
"""
PRINTED = {
    "settings": Printed("an array: an object for each key", """\
key | text | the key, with its section
value | any | the value in use; null for a secret
default | any | the default
meaning | text | what it means
variable | text | its environment variable
origin | text | `flag`, `environment`, `file` or `default`
place | text | where that is written, such as `docmill.toml:12`
"""),
    "ingest": Printed("one object", _REPORT),
    "watch": Printed("one object a line for each run that commits, as `docmill ingest` prints it", _REPORT),
    "plugins": Printed("an array of plugins", """\
group | text | the group of its entry point, such as `docmill.splitters`
name | text | the name under which it is used
distribution | text | the distribution that gives it
version | text | the version of the distribution
problem | text | why it cannot be used, or ""
"""),
    "plan": Printed("one object, the report that the run would give", _REPORT),
    "search": Printed("an array of hits, best first; with `--queries`, of objects `{\"query\": …, \"hits\": […]}`, "
    "which have an `error` where a line could not be searched for", """\
rank | integer |
score | number |
vector_score | number or null |
keyword_score | number or null |
chunk_id | text |
uri | text |
start_char | integer |
end_char | integer |
text | text |
context | text |
headings | array of text |
page | integer or null |
content_type | text |
strategy | text |
role | text |
matched | text |
vector_rank | integer or null |
keyword_rank | integer or null |
terms.* | number | share of each term of the query in the BM25 score
fields.* | array of text | fields of the chunk that have the term
steps[].step | text | name of a step of the search
steps[].score | number | score of the hit after the step
steps[].said | text | what the step did with the hit
relevance | number |
also_at | array of object | copies of it: `chunk_id`, `uri`, span, `page`, `line`, `source_url` of each
line | integer |
source_url | text |
passage.text | text | sentences of the hit that answer; without `--passages`, and where it has none, `passage` is null
passage.start_char | integer | where they begin, in code points
passage.end_char | integer | where they end, exclusive
confidence | number |
"""),
    "sql": Printed("an array: an object for each row, its keys the columns of the statement", """\
* | any | a value: numbers, texts, booleans, null, arrays and objects as they are; times and binary values as text
"""),
    "list": Printed("an array: an object for each document, ordered by `uri`", _DOCUMENT.format("")),
    "show": Printed("one object", f"""\
{_DOCUMENT.format("document.")}document.metadata.* | any | what the file states about itself
sections[].number | text | place in the outline, such as `2.1`; `0` is the text before the first heading
sections[].heading | text | its words
sections[].headings | array of text | the headings above it and its own
sections[].level | integer | level of the heading, 1 for the highest; 0 for section `0`
sections[].start_char | integer | where it starts, in code points of the canonical text
sections[].end_char | integer | where it ends, exclusive, subsections included
sections[].characters | integer | its length
sections[].line | integer | line on which it starts, from 1
sections[].page | integer or null | page on which it starts, if the format has pages
sections[].last_page | integer or null | page on which it ends
chunks[].chunk_id | text |
chunks[].uri | text |
chunks[].ordinal | integer |
chunks[].start_char | integer |
chunks[].end_char | integer |
chunks[].text | text |
chunks[].context | text |
chunks[].headings | array of text |
chunks[].page | integer or null |
chunks[].line | integer |
chunks[].content_type | text | content type of its region
chunks[].strategy | text |
chunks[].tokens | integer |
chunks[].role | text |
chunks[].depth | integer |
chunks[].parent_id | text |
chunks[].children | array of text |
chunks[].phrasings | array of text | statements and questions of the chunk by a language model
"""),
    "explain": Printed("one object", f"""\
file | text | path of the file
uri | text | the uri that it would have
source | text | the source that it belongs to, if it belongs to one
format | text | the format that it is read as
reader | text | the parser that `[[parse.readers]]` or a plugin chose, with its version; empty if docmill's own
language | text | language of source code
title | text | title that its parser found
characters | integer | code points of its canonical text
content_type | text | content type of the whole document
score | number | score of that type, from 0 to 1
runner_up | text | second-best type
runner_up_score | number | its score
evidence | array of text | signs of the type
globs | array of text | globs of `[[routes]]` that match the uri
regions[].start_char | integer | where the region begins, in code points
regions[].end_char | integer | where it ends, exclusive
regions[].content_type | text | its content type
regions[].score | number | score of that type
regions[].runner_up | text | second-best type
regions[].runner_up_score | number | its score
regions[].evidence | array of text | signs of the type
regions[].strategy | text | strategy of its route
regions[].options.* | any | options of the strategy
regions[].rule | text | the rule that chose the route
splits[].name | text | `routes`, or a strategy of `--strategy` with its options
{_CHUNK}"""),
    "export": Printed("one object", """\
target | text | where it went, without credentials
snapshot | integer | number of the exported snapshot
chunks | integer | rows that the target has now
added | integer | rows that are new
changed | integer | rows that replaced others of the same chunk id
removed | integer | rows of chunks that have left
pending | integer | chunks that were left out, as they wait for their vectors
figures | integer | pictures in the folder beside it
"""),
    "history": Printed("an array: an object for each kept snapshot, oldest first", """\
snapshot | integer |
created | text |
run_id | text |
documents | integer |
chunks | integer |
rejects | integer |
vector_version | integer |
segments | integer |
pending | integer |
"""),
    "diff": Printed("one object", f"""\
old | integer | number of the first snapshot
new | integer | number of the second
{_CHANGES.format("documents")}{_CHANGES.format("chunks")}\
vectors | array of number | shares of the chunks of both that have vectors, from 0 to 1
"""),
    "tag": Printed("an array: an object for each tag, or the one that was set", """\
tag | text | the tag
snapshot | integer | number of its snapshot
"""),
    "undelete": Printed("one object", """\
snapshot | integer | the snapshot that was committed
restored | array of text | uris of the documents that it has again
"""),
    "restore": Printed("one object", """\
earlier | integer | number of the snapshot whose contents come back
added | integer | documents that the newest snapshot lacked
changed | integer | documents that it had in another state
removed | integer | documents that the earlier snapshot lacked
rejects | boolean | whether the rejected files differ
snapshot | integer or null | the snapshot that was committed; `null` if nothing differs, and with `--dry-run`
"""),
    "remove": Printed("one object", """\
sources | array of text | names of the sources
documents | integer | their documents
chunks | integer | their chunks
rejects | integer | their rejected files
snapshot | integer or null | the snapshot without them; `null` with `--dry-run`
"""),
    "erase": Printed("one object", """\
uris | array of text | the documents
documents | integer | of them, those in the newest snapshot
chunks | integer | the chunks of these
restorable | integer | of them, those that were deleted and could be restored
rejects | integer | of them, rejected files
snapshots | array of integer | numbers of the snapshots that are removed
tags | array of text | tags that are removed
candidates | array of text | held-back snapshots that are removed
questions | integer | kept questions of evaluations that named the documents
judgements | integer | judgements about the documents
open | array of integer | snapshots that a reader keeps open, with the text; erase again once they are closed
bytes | integer | bytes freed
snapshot | integer or null | the snapshot that is left; `null` with `--dry-run`
remains | array of text | where copies may be that docmill does not reach, and what removes them
"""),
    "publish": Printed("an array of held-back snapshots; with a name, one object `{\"snapshot\": …}`", """\
candidate | text | name of the held-back snapshot
created | text | when it was made (ISO 8601, UTC)
documents | integer | its documents
chunks | integer | its chunks
"""),
    **FEEDBACK,
    "evaluate questions": Printed("an array: an object for each snapshot and way to search, the first the base", f"""\
snapshot | text | number or tag of the snapshot
mode | text | `hybrid`, `vector` or `keyword`
weight | number | weight of the vectors, in a hybrid search
fusion | text | how the rankings were fused, in a hybrid search
{_INTERVAL.format("measures.*")}questions.*.* | number | value of each measure for each question, by its id
cut | array of text | ids of questions whose answers stand in the snapshot and in no single chunk
left_out[].question | text | id of a question that could not be measured
left_out[].named | text | the question and its line in the file
left_out[].reason | text | why
left_out[].measures | array of text | the measures that leave it out; none: all
groups.*.*.questions | integer | with `--by`: number of questions of a group, by dimension and group
{_INTERVAL.format("groups.*.*.measures.*")}\
worst.by | text | dimension of the group that is answered worst; in the first object, if there is one
worst.group | text | the group
worst.measure | text | the first measure
worst.questions | integer | number of its questions
worst.mean | number | mean of the group
worst.others | number | mean of all other questions
{_INTERVAL.format("worst.change").replace("the mean over the questions", "difference between the two")}\
{_INTERVAL.format("against.*").replace("the mean over the questions", "mean difference to the first object")}\
against.*.verdict | text | `better`, `worse` or `indistinguishable`
"""),
    "evaluate chunks": Printed("an array: an object for each measure", _MEASURES),
    "evaluate context": Printed("an array: an object for each measure", _MEASURES),
    "evaluate facts": Printed("an array: an object for each way to search and number of chunks", """\
mode | text | the way to search
top | integer | number of chunks that were read
accuracy | number | share of the facts that these chunks state
true | integer | facts that they state
false | integer | facts that they do not state
too_long | integer | prompts over `--window`
failed | integer | prompts without a usable answer
"""),
    "tune": Printed("one object", f"""\
proxies | boolean | whether the questions were made from the documents
questions | integer | number of questions
judged | integer | queries that people have judged, if these were asked
decisions[].content_type | text | content type of a setting that half of the judged queries chose; empty for all
decisions[].what | text | the setting
decisions[].questions | integer | judged queries that were held back and decide
{_INTERVAL.format("decisions[].change")}decisions[].loses | boolean | whether a content type loses by it
decisions[].adopted | boolean | whether it is adopted
decisions[].wanted | integer or null | about how many more judged queries would tell a gain; null if none or told
embedded | integer | texts that were newly embedded
trials[].content_type | text | content type that was tuned; empty for all
trials[].what | text | what was tried
trials[].questions | integer | questions that it was measured on
trials[].mean | object or null | mean of the measure; null if the budget was used up
{_INTERVAL.format("trials[].mean")}trials[].change | object or null | difference to the settings in use; null for these
{_INTERVAL.format("trials[].change")}trials[].embedded | integer | texts that it newly embedded; -1 if it was not tried
skipped | array of text | what was not tried, and why
toml | text | settings that are significantly better, as TOML
"""),
    "status": Printed("one object", f"""\
store | text | path or address of the store
snapshot | integer | number of the newest snapshot
created | text | when it was committed (ISO 8601, UTC)
documents | integer | its documents
stale | integer | of these, kept although their file can no longer be used
lost_text | integer | of these, with text that could not be read
chunks | integer | its chunks
rejects | integer | files that were rejected
unreadable.* | text | files and folders that could not be read, with the reason
sources.* | integer | documents of each source
{_SOURCE_RUN.format("source_runs[].")}content_types.* | integer | documents of each content type
model | text | the embedding model
dimension | integer | length of its vectors
vectors.share | number | share of the chunks with vectors, from 0 to 1
vectors.pending | integer | chunks without one
vectors.minutes | number or null | minutes that a run needs for these; null if that is unknown
poorly_read.*.documents | integer | documents in this language, of whose letters the model cannot read many
poorly_read.*.share | number | share of their letters that it cannot read, from 0 to 1
contexts.missing | integer | chunks that a language model should write about and could not yet; only if one was asked
contexts.refused | integer | chunks about which it gave no usable answer
contexts.stale | integer | chunks whose document has changed elsewhere since its answer
contexts.reason | text | why the last calls failed or were refused, if any lack an answer
bytes | integer | disk use
synced | text | when the mirror of a store on an object store was last in step with it (ISO 8601, UTC)
"""),
    "sources": Printed("an array: an object for each source", f"""\
{_SOURCE_RUN.format("")}documents | integer | its documents in the store
settings | object | its table in `docmill.toml`; a credential is the place where it is
"""),
    "doctor": Printed("an array: an object for each check", """\
name | text | what was checked
state | text | `ok`, `note` if something optional is missing, `broken` if something is that the settings need
found | text | what was found
remedy | text | what to type, or empty
"""),
    "verify": Printed("an array: an object for each finding; empty if all is well", """\
kind | text | what the finding is of: `tables`, `texts`, `embeddings`, `space`, `vectors`, `keywords`, `current`,\
 `evaluations`, `judgements`, `queries`, `learned`, `snapshot` or `past`
message | text | what differs
mend | text | what to do
"""),
    "rejects": Printed("an array: an object for each rejected file; with `--retry`, the report of `ingest`", """\
uri | text |
reason | text |
message | text |
parser | text |
content_hash | text |
size | integer |
source | text |
first_seen | text |
last_seen | text |
"""),
    "repair": Printed("one object", """\
done | array of text | what was repaired
lost | array of text | what has to be ingested again
at_stake | array of text | what would be lost without `--accept-loss`; then nothing was repaired
"""),
    "vacuum": Printed("one object", _COMPACTION),
    "compact": Printed("one object", _COMPACTION),
    "reembed": Printed("one object", """\
embedded | integer | texts that were newly embedded
snapshot | integer or null | the snapshot that was committed; null if nothing changed or the gate held it back
candidate | text or null | name of the snapshot that the gate held back, or empty; null if nothing changed
"""),
}  # fmt: skip
