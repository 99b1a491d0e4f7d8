"""Derived views: vectors, neighbours and duplicates of chunks, their lengths, and how fresh the documents are.

`docmill sql` and `views.sql` share this SQL. It reads the views `chunks` and `documents`; `vectors` also reads
`embeddings(key, vector)`, which has each key once.

Near duplicates are found without comparing all pairs. The signs of a vector's coordinates are a signature: each sign of
two vectors differs with the probability angle/pi, which at a cosine of .95 is one in ten (Charikar 2002). Pairs that
agree in one of up to 27 bands of 14 signs, and in four of five signs overall, are compared exactly. Of the pairs at
.95, one in a thousand is missed with 384 dimensions, and one in a hundred with 256; of closer pairs, fewer.
"""

from docmill.storage.sql.document_warnings import WARNINGS

NEAR = 0.95
"""The least cosine of near duplicates."""
_FEW = 200
"""Up to this many texts, all pairs are compared, which takes half a second."""
_BANDS, _SIGNS = 27, 14  # narrower bands take more memory: with 12 signs, 2 GB for 100,000 chunks
_FEWEST_EQUAL = 0.8  # share of equal signs; pairs at .95 agree in .9, with a deviation of .015 at 384 dimensions

ROUTING = """\
SELECT
    uri, document_id, r.start_char AS start_char, r.end_char AS end_char,
    r.content_type AS content_type, r.score AS score,
    r.runner_up AS runner_up, r.runner_up_score AS runner_up_score, r.evidence AS evidence,
    r.strategy AS strategy, r.options AS options
FROM (SELECT uri, document_id, unnest(regions) AS r FROM documents)
ORDER BY uri, start_char
"""
"""One row for each region of each document: what it is, why, and how it was split."""

FIGURES = """\
SELECT
    uri, document_id, f.key AS key, f.start_char AS start_char, f.end_char AS end_char, f.media_type AS media_type,
    f.width AS width, f.height AS height, f.bytes AS bytes, f.page AS page, f.box AS box, f.caption AS caption,
    f.alt AS alt, count(*) OVER (PARTITION BY f.key) AS places
FROM (SELECT uri, document_id, unnest(figures) AS f FROM documents)
ORDER BY uri, start_char
"""
"""One row for each figure of each document; `places` is how often its picture is in the snapshot."""

_LENGTHS = """\
SELECT
    content_type, strategy, role, count(*) AS chunks,
    min(tokens) AS least, quantile_cont(tokens, 0.25) AS lower_quarter, median(tokens) AS median,
    quantile_cont(tokens, 0.75) AS upper_quarter, quantile_cont(tokens, 0.95) AS p95, max(tokens) AS most,
    sum(tokens)::BIGINT AS tokens, median(end_char - start_char) AS median_characters
FROM chunks GROUP BY content_type, strategy, role ORDER BY content_type, strategy, role
"""
_FRESHNESS = """\
SELECT
    uri, source, status, make_timestamp(mtime_ns // 1000) AT TIME ZONE 'UTC' AS changed,
    coalesce(modified, created) AS stated,
    floor((epoch(now()) - mtime_ns / 1e9) / 86400)::BIGINT AS age_days,
    (SELECT count(*) FROM chunks WHERE chunks.document_id = documents.document_id AND context_state <> '')
        AS contexts_due
FROM documents ORDER BY mtime_ns, uri
"""
_VECTORS = """\
WITH named AS (
    SELECT chunk_id, 0 AS part, embedding_key AS key FROM chunks
    UNION ALL
    SELECT chunk_id, unnest(range(1, 1 + len(part_keys)))::INTEGER, unnest(part_keys) FROM chunks
)
SELECT chunk_id, part, vector FROM named JOIN embeddings USING (key)
"""
_DUPLICATES = f"""\
WITH texts AS MATERIALIZED (
    SELECT md5(text) AS hash, min((uri, ordinal, chunk_id)) AS place, arg_min(document_id, (uri, ordinal, chunk_id)) AS document_id
    FROM chunks GROUP BY 1
), same AS (
    SELECT c.chunk_id, c.uri, t.place[3] AS other_id, t.place[1] AS other_uri, 'same' AS kind, 1.0::FLOAT AS similarity
    FROM chunks AS c JOIN texts AS t ON md5(c.text) = t.hash AND c.document_id <> t.document_id
), whole AS (
    SELECT v.chunk_id, v.vector FROM vectors AS v JOIN chunks AS c USING (chunk_id) WHERE v.part = 0 AND len(c.parts) = 0
), signed AS MATERIALIZED (
    SELECT
        place, document_id, len(w.vector::FLOAT[]) AS signs,
        array_to_string(list_transform(w.vector::FLOAT[], lambda x: (x > 0)::INTEGER), '') AS bits
    FROM texts JOIN whole AS w ON w.chunk_id = texts.place[3]
), banded AS (
    SELECT place, document_id, signs, bits::BIT AS bits, unnest(CASE
        WHEN (SELECT count(*) FROM signed) <= {_FEW} THEN [0::UBIGINT]
        ELSE [hash(b, substr(bits, 1 + {_SIGNS} * b, {_SIGNS})) FOR b IN range(greatest(1, least({_BANDS}, signs // {_SIGNS})))]
    END) AS band
    FROM signed
), pairs AS (
    SELECT DISTINCT a.place AS place, b.place AS other
    FROM banded AS a JOIN banded AS b ON a.band = b.band AND a.place > b.place AND a.document_id <> b.document_id
    WHERE a.band = 0 OR bit_count(xor(a.bits, b.bits)) <= {1 - _FEWEST_EQUAL:.1f} * a.signs
), near AS (
    SELECT
        a.place[3] AS chunk_id, a.place[1] AS uri, a.other[3] AS other_id, a.other[1] AS other_uri, 'near' AS kind,
        array_cosine_similarity(v.vector, w.vector) AS similarity
    FROM pairs AS a JOIN whole AS v ON v.chunk_id = a.place[3] JOIN whole AS w ON w.chunk_id = a.other[3]
)
FROM same UNION ALL FROM near WHERE similarity > {NEAR}
ORDER BY uri, chunk_id, other_id
"""  # noqa: E501
NEIGHBOURS = """\
MACRO neighbours(wanted, k := 5) AS TABLE
SELECT chunk_id, uri, start_char, similarity FROM chunks JOIN (
    SELECT v.chunk_id AS chunk_id, max(array_cosine_similarity(v.vector, own.vector)) AS similarity
    FROM vectors AS v, (SELECT vector FROM vectors WHERE chunk_id = wanted) AS own
    WHERE v.chunk_id <> wanted GROUP BY v.chunk_id
) USING (chunk_id)
ORDER BY similarity DESC, chunk_id LIMIT k
"""
"""The chunks whose vectors are nearest to those of a chunk; compares all of them."""

_SPELLING = r"lower(trim(regexp_replace(query, '\s+', ' ', 'g')))"
FREQUENT = f"""\
SELECT
    arg_max(query, created) AS query, count(*) AS times, min(created) AS first, max(created) AS last,
    arg_max(snapshot, created) AS snapshot, arg_max(hits, created) AS hits,
    arg_max(coalesce(relevance, 0), created) AS relevance, arg_max(coalesce(confidence, 0), created) AS confidence
FROM queries GROUP BY {_SPELLING} ORDER BY times DESC, last DESC
"""
"""One row for each logged query, ignoring case and white space, with its newest answer."""
_CHANGES = f"""\
WITH answered AS (
    SELECT
        {_SPELLING} AS spelling, snapshot, arg_max(query, created) AS query, count(*) AS times,
        arg_max(hits, created) AS hits, arg_max(coalesce(confidence, 0), created) AS confidence
    FROM queries WHERE NOT (filtered OR restricted) GROUP BY ALL
)
SELECT
    query, sum(times) OVER (PARTITION BY spelling)::BIGINT AS times,
    lag(snapshot) OVER again AS before, snapshot AS after, lag(hits) OVER again AS hits_before, hits AS hits_after,
    lag(confidence) OVER again AS confidence_before, confidence AS confidence_after
FROM answered WINDOW again AS (PARTITION BY spelling ORDER BY snapshot)
QUALIFY before IS NOT NULL ORDER BY times DESC, query, after
"""

OF_QUERIES = {"frequent_queries": FREQUENT, "query_changes": _CHANGES}
"""Views that need `queries`."""
OF_ROWS = {"routing": ROUTING, "figures": FIGURES, "warnings": WARNINGS, "lengths": _LENGTHS, "freshness": _FRESHNESS}
"""Views that need only rows."""
OF_VECTORS = {"vectors": _VECTORS, "duplicates": _DUPLICATES}
"""Views that need `embeddings`; `NEIGHBOURS` does too."""
EMBEDDINGS = "embeddings"
