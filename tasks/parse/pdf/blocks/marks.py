"""PDF marks: the signs and words by which items and captions begin."""

import re

BULLET = re.compile(r"([•●▪■◦○‣∙·*–—➢➤✓❖▸▹►▻▶▷◆◇★☆→⇒»›□➔➜❑❒⬥⦁-]|[\u2043\uf0a7\uf0b7\uf0a8\uf0d8]|o(?=\s))\s+(?=\S)")
NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,4}|[IVX]{1,4})[.)])\s+(?=\S)")
CAPTION = re.compile(r"(?:table|fig(?:ure|\.)|tab\.|abb(?:ildung|\.)|plate|chart|listing)\s*\d", re.IGNORECASE)
