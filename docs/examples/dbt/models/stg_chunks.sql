select c.chunk_id, c.uri, d.title, c.content_type, c.strategy, c.tokens
from {{ source('docmill', 'chunks') }} as c
join {{ source('docmill', 'documents') }} as d using (document_id)
