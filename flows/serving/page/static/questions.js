// Questions: the SQL of what the page shows, by name. `docmill report` asks the same questions, so what stands after "="
// is JSON: the lines of each statement.
export const QUESTIONS = {
  "snapshots": [
    "SELECT snapshot, created, documents, chunks FROM snapshots ORDER BY snapshot DESC"
  ],
  "lengths": [
    "SELECT content_type, strategy, sum(chunks)::BIGINT AS chunks, min(least) AS least,",
    "    min(lower_quarter) AS lower_quarter, median(median) AS median, max(upper_quarter) AS upper_quarter,",
    "    max(p95) AS p95, max(most) AS most",
    "FROM lengths GROUP BY ALL ORDER BY chunks DESC"
  ],
  "truncated": [
    "SELECT count(*) AS chunks, count(*) FILTER (WHERE tokens > token_limit AND len(parts) = 0) AS cut,",
    "    max(tokens) FILTER (WHERE len(parts) = 0) AS longest, any_value(token_limit) AS token_limit",
    "FROM chunks, (SELECT token_limit FROM snapshots ORDER BY snapshot DESC LIMIT 1)"
  ],
  "torn": [
    "SELECT uri, min(start_char) AS start_char, max(end_char) AS end_char, sum(characters)::BIGINT AS characters,",
    "    count(*) AS pieces",
    "FROM (",
    "    SELECT *, count(*) FILTER (NOT goes_on) OVER (PARTITION BY uri ORDER BY start_char) AS number",
    "    FROM (",
    "        SELECT *, start_char - lag(end_char) OVER each < 2",
    "            AND (begins AND lag(ends) OVER each OR is_table AND lag(is_table) OVER each) AS goes_on",
    "        FROM (",
    "            SELECT uri, start_char, end_char, end_char - start_char AS characters, content_type = 'table' AS is_table,",
    "                starts_with(text, '|') AS begins, ends_with(text, '|') AS ends",
    "            FROM chunks WHERE len(children) = 0 AND (is_table OR begins OR ends)",
    "        ) WINDOW each AS (PARTITION BY uri ORDER BY start_char)",
    "    )",
    ") GROUP BY uri, number HAVING count(*) > 1 ORDER BY pieces, characters, uri LIMIT 200"
  ],
  "cut": [
    "SELECT uri, count(*) AS checked, count(*) FILTER (within) AS broken, (list(chunk_id) FILTER (within))[:100] AS ids",
    "FROM (",
    "    SELECT chunk_id, uri, content_type, following, following - end_char < 2",
    "        AND NOT regexp_matches(right(text, 20), '[.!?…:;。！？»”\"''’)\\]*_`|>]\\s*$') AS within",
    "    FROM (SELECT *, lead(start_char) OVER (PARTITION BY uri ORDER BY start_char) AS following",
    "        FROM chunks WHERE len(children) = 0)",
    ") WHERE content_type IN ('narrative', 'structured', 'technical', 'legal', 'email') AND following IS NOT NULL",
    "GROUP BY uri HAVING broken > 0 ORDER BY broken / (checked + 4) DESC, broken DESC, uri LIMIT 200"
  ],
  "rejects": [
    "SELECT reason, uri, message, last_seen FROM rejects ORDER BY reason, uri LIMIT 1000"
  ],
  "warnings": [
    "SELECT kind, uri, message, lost FROM warnings ORDER BY lost DESC, kind, uri LIMIT 1000"
  ],
  "duplicates": [
    "SELECT d.uri, d.other_uri, count(DISTINCT d.chunk_id) AS repeated, any_value(o.chunks) AS chunks,",
    "    count(DISTINCT d.chunk_id) FILTER (d.kind = 'same') AS same, min(d.similarity) AS least,",
    "    list_distinct(list(d.chunk_id))[:50] AS ids, list_distinct(list(d.other_id))[:50] AS other_ids",
    "FROM duplicates AS d JOIN documents AS o ON o.uri = d.uri",
    "GROUP BY ALL ORDER BY repeated DESC, least DESC, d.uri, d.other_uri LIMIT 200"
  ],
  "old": [
    "SELECT uri, status, changed::DATE::VARCHAR AS changed, age_days, contexts_due",
    "FROM freshness ORDER BY status = 'ok', age_days DESC, uri LIMIT 200"
  ],
  "kinds": [
    "SELECT content_type, format, lang, count(*) AS documents, sum(chunks)::BIGINT AS chunks",
    "FROM documents GROUP BY ALL ORDER BY chunks DESC LIMIT 200"
  ],
  "runs": [
    "SELECT snapshot, started, seconds, added, changed, moved, deleted, rejected, stale,",
    "    chunks_added, chunks_kept, chunks_removed",
    "FROM runs ORDER BY snapshot DESC LIMIT 30"
  ],
  "costs": [
    "SELECT model, purpose, sum(calls)::BIGINT AS calls, sum(failed)::BIGINT AS failed, sum(input)::BIGINT AS input,",
    "    sum(output)::BIGINT AS output, sum(money) AS money, arg_max(snapshot, (money, calls, snapshot)) AS dearest,",
    "    max(money) AS most",
    "FROM costs GROUP BY ALL ORDER BY money DESC, calls DESC"
  ],
  "evaluations": [
    "SELECT evaluation_id, asking, subject, measure, snapshot, candidate, settings, value, low, high, count, created",
    "FROM evaluations WHERE kind = 'questions' ORDER BY created DESC, subject, measure LIMIT 1000"
  ]
};

// The first query of the list of documents, in the same form. The server runs it ahead.
export const LISTS = {
  "documents": [
    "SELECT uri, title, format, content_type, chunks, characters, status, len(warnings) AS warnings,",
    "    make_timestamp(mtime_ns // 1000)::VARCHAR AS changed",
    "FROM documents WHERE true ORDER BY uri LIMIT 201"
  ]
};

// Queries on two snapshots, in the same form. OLD and NEW are placeholders for their numbers.
export const BETWEEN = {
  "refused": [
    "SELECT reason, uri, message FROM (FROM rejects_at(NEW) EXCEPT FROM rejects_at(OLD))",
    "ORDER BY reason, uri LIMIT 1000"
  ]
};

/** Return the SQL of a question. */
export const statementOf = (name) => (QUESTIONS[name] ?? LISTS[name]).join("\n");

/** Return the SQL of a question about two snapshots. */
export const statementBetween = (name, old, fresh) => BETWEEN[name].join("\n").replace("OLD", Number(old)).replace("NEW", Number(fresh));

/** Return a text as an SQL literal. */
export const quoted = (text) => `'${String(text).replaceAll("'", "''")}'`;
