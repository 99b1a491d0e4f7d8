select uri, title, count(*) as chunks, sum(tokens)::bigint as tokens
from {{ ref('stg_chunks') }}
group by uri, title
order by tokens desc
