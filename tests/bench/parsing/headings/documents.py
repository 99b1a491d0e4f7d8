"""The marked documents: half of them to look at while rules are made, half to report."""

from tests.bench.parsing.headings.marked import Marked

_PLAIN = "body { font: 10.5pt/1.35 'Liberation Serif'; } h1, h2, h3, h4 { bookmark-level: none; font-weight: normal; }"
_SANS = "body { font: 10pt/1.4 'Liberation Sans'; } h1, h2, h3, h4 { bookmark-level: none; }"

LOOK = (
    Marked(
        "survey", "look", "chromium", "Survey of the upper mills",
        """
  1 Scope of the survey
    1.1 Places and dates
    1.2 Instruments
      1.2.1 Gauges at the gates
      1.2.2 Weights
  2 Results
    2.1 Flow in spring
    2.2 Flow in autumn
  3 What remains open
""",
        look=_SANS + "h1 { font-size: 18pt } h2, h3, h4 { font-size: 10pt; font-weight: bold }",
        traps="steps drawing list caption",
    ),
    Marked(
        "agreement", "look", "soffice", "SUPPLY AGREEMENT",
        """
  1. DEFINITIONS
  2. DELIVERY
  3. PRICE AND PAYMENT
  4. LIABILITY
  5. GENERAL PROVISIONS
    Governing law.
    Notices.
""",
        look="h1 { font-size: 12pt; text-align: center } h2 { font-size: 11pt } h3 { font-size: 11pt; }"
        "body { font-family: 'Liberation Serif'; font-size: 11pt }",
        traps="lettered names",
    ),
    Marked(
        "letter", "look", "typst", "On the sound of wheels",
        """
  Abstract
  Introduction
  Methods
    Recording below the wheel
    Choice of places
  Results
    Spring
    Autumn
  Acknowledgements
""",
        look='#set page(columns: 2, margin: 2cm)\n#set text(9.5pt, font: "New Computer Modern")\n'
        '#set heading(bookmarked: false)\n#show heading: set text(10pt, weight: "bold")\n'
        '#show heading.where(level: 2): set text(10pt, weight: "regular", style: "italic")\n',
        traps="caption list quote",
    ),
    Marked(
        "yearbook", "look", "reportlab", "Report of the Year on Rivers and Weirs",
        """
  From the chair
  Our rivers
    The Arrow
    The Lugg
  Our weirs
    Repairs
    New works
  Accounts
""",
        brand="ARROWFLOW", look="h1 22 bold;h2 16 bold;h3 11 bold", traps="contents quote drawing table",
    ),
    Marked(
        "manual", "look", "fpdf2", "Running the small mill",
        """
  Before you begin
    What you need
    Who may help
  Starting the wheel
    Cold weather
    After a flood
  Stopping the wheel
  Yearly care
""",
        look="h1 16 bold;h2 12 bold;h3 10 italic", traps="steps warning drawing",
    ),
    Marked(
        "chapter", "look", "weasyprint", "The Road Beside the River",
        """
  How it was built
    The soldiers
    The stone
  Who paid for it
    The toll of 1740
  What is left
""",
        look=_PLAIN.replace("bookmark-level: none;", "") + "h1 { font-size: 20pt } h2 { font-variant: small-caps;"
        "font-size: 12pt } h3 { font-style: italic; font-size: 10.5pt; bookmark-level: none }",
        traps="quote caption",
    ),
)  # fmt: skip

REPORT = (
    Marked(
        "handbook", "report", "chromium", "Handbook for visitors",
        """
  Before your visit
    How to reach us
    What to bring
  At the mill
    The upper floor
    The wheel house
    Children and dogs
  After your visit
    Lost property
""",
        look=_SANS + "h1 { font-size: 26pt; font-weight: 300 } h2 { font-size: 10pt; text-transform: uppercase; }"
        "h3 { font-size: 10pt; font-style: italic; font-weight: bold }",
        traps="list table warning drawing",
    ),
    Marked(
        "thesis", "report", "soffice", "The economics of village mills",
        """
  1 Introduction
    1.1 Motivation
    1.2 Earlier work
  2 A model of tolls
    2.1 Assumptions
      2.1.1 Demand
      2.1.2 Supply of water
    2.2 Equilibrium
  3 Conclusion
""",
        look="h1 { font-size: 20pt } h2 { font-size: 14pt } h3 { font-size: 12pt; font-style: italic }"
        "h4 { font-size: 12pt; font-style: italic; font-weight: normal }"
        "body { font-family: 'Liberation Serif'; font-size: 12pt }",
        traps="contents lettered caption",
    ),
    Marked(
        "guide", "report", "typst", "Guide to the accounts",
        """
  A. Opening the books
    A.1 Accounts of a mill
    A.2 First entries
  B. During the year
    B.1 Tolls
    B.2 Repairs
      Small repairs
      Large repairs
  C. Closing the books
""",
        look='#set page(margin: 2.5cm)\n#set text(10pt, font: "DejaVu Serif")\n#set heading(bookmarked: false)\n'
        '#show heading: set text(10pt, weight: "bold")\n#show heading.where(level: 1): set text(17pt)\n'
        '#show heading.where(level: 3): set text(10pt, weight: "regular", style: "italic")\n',
        traps="steps table quote",
    ),
    Marked(
        "note", "report", "latex-like", "A note on undershot wheels",
        """
  Abstract
  1 Introduction
  2 The wheel
    2.1 Paddles
    2.2 Axle
      2.2.1 Wear
  3 Measurements
    3.1 Setting
  References
""",
        look="h1 14 SFRM1440;h2 12 SFBX1200;h3 10 SFBX1000;h4 10 SFTI1000;body 10 SFRM1000;bold 10 SFBX1000",
        traps="list caption steps",
    ),
    Marked(
        "policy", "report", "fpdf2", "Policy on the use of the weir",
        """
  Section 1 - Purpose
  Section 2 - Who may use the weir
    Members
    Guests
  Section 3 - Times of use
    Summer
    Winter
  Section 4 - Breaches of this policy
""",
        brand="WEIRCO", look="h1 18 bold;h2 11 bold;h3 10 bold-italic", traps="lettered drawing names contents",
    ),
    Marked(
        "newsletter", "report", "weasyprint", "News from the river",
        """
  Flood gates renewed
    What it cost
  New members of the board
  Walks in June
    Along the Arrow
    Up the hill
  Letters
""",
        look=_SANS + "body { columns: 2; column-gap: 8mm } h1 { font-size: 28pt; column-span: all }"
        "h2 { font-size: 15pt; font-weight: normal } h3 { font-size: 10pt }",
        traps="quote names list",
    ),
)  # fmt: skip
