select * from {{ ref('tokens_by_document') }} where tokens <= 0
