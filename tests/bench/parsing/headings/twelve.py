"""Twelve marked documents of twelve programs, none of which a rule was made on: what is reported."""

from tests.bench.parsing.headings.marked import Marked

_SERIF = "body { font: 11pt/1.4 'Liberation Serif' } h1, h2, h3, h4 { bookmark-level: none }"
_WIDE = "body { font: 9.5pt/1.5 'DejaVu Sans' } h1, h2, h3, h4 { bookmark-level: none }"

TWELVE = (
    Marked(
        "charter", "twelve", "chromium", "Charter of the river trust",
        """
  Article 1. Name and seat
  Article 2. Purpose
    2.1 What the trust does
    2.2 What it does not
  Article 3. Members
  Article 4. Dissolution
""",
        look=_SERIF + "h1 { font-size: 17pt; font-variant: small-caps } h2 { font-size: 11pt; text-align: center }"
        "h3 { font-size: 11pt; font-style: italic; font-weight: normal }",
        traps="lettered names quote",
    ),
    Marked(
        "minutes", "twelve", "weasyprint", "Minutes of the spring meeting",
        """
  Present
  Reports
    Treasurer
    Warden of the weir
  Decisions
  Next meeting
""",
        look=_WIDE + "h1 { font-size: 9.5pt } h2 { font-size: 9.5pt; color: #246 } "
        "h3 { font-size: 9.5pt; font-weight: normal; text-decoration: underline }",
        traps="names list table",
    ),
    Marked(
        "inventory", "twelve", "soffice", "Inventory of the upper mill",
        """
  I. Machines
    A. Wheel and axle
    B. Stones
  II. Tools
  III. Books and papers
""",
        look="body { font-family: 'Liberation Sans'; font-size: 10pt } h1 { font-size: 14pt } h2 { font-size: 10pt }"
        "h3 { font-size: 10pt; font-weight: normal; font-style: italic }",
        traps="table list caption",
    ),
    Marked(
        "memo", "twelve", "soffice-docx", "Why the lower gate sticks",
        """
  Observation
  Possible causes
    Rust
    Silt
  Recommendation
""",
        traps="steps warning names",
    ),
    Marked(
        "syllabus", "twelve", "soffice-odt", "A course for young millers",
        """
  Aims of the course
  Term one
    Water and wood
    Grain
  Term two
  Examination
""",
        traps="list lettered table",
    ),
    Marked(
        "paper", "twelve", "typst", "Losses in wooden troughs",
        """
  1 Introduction
  2 Theory
    2.1 Friction
    2.2 Leakage
  3 Experiment
    3.1 The trough
    3.2 Readings
  4 Discussion
""",
        look='#set page(columns: 2, margin: 2cm)\n#set text(9pt, font: "Libertinus Serif")\n'
        '#set heading(bookmarked: false)\n#show heading: set text(9pt, weight: "bold")\n'
        '#show heading.where(level: 2): set text(9pt, weight: "regular", style: "italic")\n',
        traps="caption table quote",
    ),
    Marked(
        "review", "twelve", "reportlab", "Review of the winter repairs",
        """
  Summary
  Work on the wheel
    New paddles
    The old axle
  Work on the race
  Cost and time
""",
        look="h1 20 bold;h2 13 bold;h3 10 italic", traps="drawing contents table",
    ),
    Marked(
        "rules", "twelve", "fpdf2", "Rules of the fishing club",
        """
  RULE 1 - MEMBERSHIP
  RULE 2 - SEASONS
    Trout
    Pike and perch
  RULE 3 - CONDUCT
""",
        look="h1 15 bold;h2 10 bold;h3 10 bold-italic", traps="steps lettered warning",
    ),
    Marked(
        "preprint", "twelve", "latex-like", "On the noise of overshot wheels",
        """
  Abstract
  1 Introduction
  2 Method
    2.1 Microphones
    2.2 Weather
  3 Results
  References
""",
        look="h1 17 SFRM1728;h2 14 SFBX1440;h3 12 SFBX1200;body 10 SFRM1000;bold 10 SFBX1000",
        traps="list caption drawing",
    ),
    Marked(
        "manpage", "twelve", "soffice-rtf", "Setting the sluices",
        """
  Name
  Description
    Upper sluice
    Lower sluice
  Files and records
  See also
""",
        traps="list steps quote",
    ),
    Marked(
        "howto", "twelve", "platypus", "How to dress a millstone",
        """
  Before you start
  Lifting the runner
    With a crane
    With ropes
  Cutting the furrows
  Balancing
""",
        traps="steps table warning",
    ),
    Marked(
        "brochure", "twelve", "mupdf", "Walks around the three weirs",
        """
  The short walk
    From the station
    From the village
  The long walk
  Where to eat
  Getting home
""",
        brand="ARROW VALLEY", traps="list names quote",
    ),
)  # fmt: skip
