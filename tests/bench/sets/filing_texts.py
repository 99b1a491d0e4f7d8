"""The words of generated filings: sections with slots, and the questions that ask for what fills them.

`[[key|sentence]]` marks the place of a fact. Sections are alike in all filings but for what fills the slots, as in
reports that a company writes once a year from the last one. Companies and cases are invented.
"""

COMPANIES = (
    ("Halden Freight Lines", "Halden Freight Lines, Inc.", "freight", "Ohio"),
    ("Halden Freight Holdings", "Halden Freight Holdings Corp.", "freight", "Delaware"),
    ("Corwen Mills", "Corwen Mills Company", "flour and feed", "Minnesota"),
    ("Corwen Milling Group", "Corwen Milling Group plc", "flour and feed", "Nevada"),
    ("Tarn Optical", "Tarn Optical Systems, Inc.", "lenses and sensors", "Massachusetts"),
    ("Tarnley Optics", "Tarnley Optics Corporation", "lenses and sensors", "Oregon"),
    ("Brackwater Utilities", "Brackwater Utilities, Inc.", "water and power", "Georgia"),
    ("Brackwood Utilities", "Brackwood Utilities Corp.", "water and power", "Virginia"),
    ("Ostrander Paper", "Ostrander Paper Products, Inc.", "paper and board", "Wisconsin"),
    ("Pellam Devices", "Pellam Medical Devices, Inc.", "pumps and monitors", "Indiana"),
    ("Quillfeather Stores", "Quillfeather Stores, Inc.", "household goods", "Texas"),
    ("Redmarsh Energy", "Redmarsh Energy Partners, L.P.", "gas gathering", "Oklahoma"),
)
YEARS = (2017, 2018, 2019, 2020, 2021)
SEGMENTS = ("Northern", "Central", "Coastal")
QUARTERS = ("first", "second", "third", "fourth")
CASES = ("Arden County", "Teller", "Voss Brothers", "Larkspur Trust", "Minto", "Sable Ridge")

_QUARTER = (
    " Results of the quarter were affected by weather, by the timing of orders of our larger customers and by the mix"
    " of what was sold. Our business is seasonal: orders rise ahead of the holidays and fall after them, plants stop"
    " for maintenance while demand is low, and the cost of energy follows the temperature outdoors. For these reasons"
    " the results of one quarter do not show what is to be expected of another, and should be read together with the"
    " consolidated financial statements and the notes to them. In the opinion of management, all adjustments that a"
    " fair presentation requires were made, and they are of a normal and recurring nature. No event after the end of"
    " the quarter required an adjustment or a disclosure."
)
_NOTES = (
    " They are senior obligations without security and rank equally with our other senior debt. We may redeem them, in"
    " whole or in part, at any time, at the greater of their principal and the present value of the remaining payments,"
    " discounted at the rate of Treasury securities plus a margin. Upon a change of control each holder may require us"
    " to purchase the notes at 101 % of their principal. The indenture limits our ability to create liens, to sell and"
    " lease back property and to merge with others, and names events of default upon which the trustee, or the holders"
    " of a quarter of the principal, may declare it due at once. Those of our subsidiaries that guarantee the credit"
    " facility guarantee the notes, too."
)
_CASE = (
    " We believe that we have meritorious defenses, and intend to defend ourselves vigorously. Discovery is under way,"
    " no date has been set for a trial, and the court has not ruled on our motion to dismiss. The outcome of litigation"
    " is uncertain, and an adverse result may require changes to how we do business. We maintain insurance for claims"
    " of this kind, subject to deductibles and limits, and the insurer has reserved its rights. Legal fees are expensed"
    " as they are incurred, and estimates are reviewed at the end of each quarter as facts become known."
)
_CONTROL = (
    " Internal control over financial reporting is a process designed to provide reasonable assurance regarding the"
    " reliability of financial reporting and the preparation of statements for external purposes in accordance with"
    " generally accepted principles. It cannot prevent or detect all misstatements, and projections of its"
    " effectiveness to later periods are subject to the risk that conditions change or that compliance with policies"
    " deteriorates. Our independent registered public accounting firm has audited our statements and has issued a"
    " report, which is included elsewhere."
)
_GOODWILL = (
    " We test goodwill in the fourth quarter of each year, and more often if events suggest that the fair value of a"
    " reporting unit may be below its carrying amount. The test compares discounted cash flows, which rest on forecasts"
    " of volume, prices and costs, on a rate of growth and on a discount rate, with the carrying amount. These inputs"
    " are judgments of management and cannot be observed in a market. A change of one percentage point in the discount"
    " rate, or a delay of expected growth by a year, may lead to an impairment in a later period."
)

COVER = """\
UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
Washington, D.C. 20549

FORM 10-K

ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934

For the fiscal year {year}

{capitals}
(Exact name of registrant as specified in its charter)

{state}
(State of incorporation)

Indicate by check mark whether the registrant is a well-known seasoned issuer. Yes [ ] No [X]"""

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Business",
        (
            "{legal} (the Company, we, us or our) was organized under the laws of {state} and supplies {trade} to"
            " commercial customers. We report our results for fiscal years that end on the Saturday nearest to"
            " December 31. Unless otherwise stated, references to a year are to the fiscal year {year}.",
            "[[employees|At the end of fiscal {year} we had {employees} full-time employees, of whom {union} % were"
            " covered by collective bargaining agreements.]] [[strike|{strike}]] We consider our relations with our"
            " employees to be good, and have renewed all agreements that expired before the date of this report.",
            "[[sites|We operate {sites} sites with a total area of {area} thousand square feet, of which {owned} are"
            " owned and the others are leased under agreements that expire at various dates through {lease_end}.]]"
            " We believe that our sites are in good repair and sufficient for the needs of the next twelve months.",
            "[[customers|Our ten largest customers accounted for {top_ten} % of net revenue in fiscal {year}, and the"
            " largest of them for {largest} %.]] Contracts with these customers are generally for one year, may be"
            " ended by either side with notice of ninety days, and contain no commitment to minimum volumes.",
        ),
    ),
    (
        "Risk factors",
        (
            "Demand for our products follows the economy, and a downturn may reduce it. Our customers may delay or"
            " cancel orders, ask for longer terms of payment or become insolvent. Any of these events may have a"
            " material adverse effect on our business, financial condition and results of operations, and in fiscal"
            " {year} we increased the allowance for doubtful accounts for this reason.",
            "We depend on a limited number of suppliers for energy, materials and equipment. [[suppliers|In fiscal"
            " {year} three suppliers delivered {supply} % of what we bought.]] An interruption of their deliveries,"
            " whether by weather, labor disputes or their own financial difficulties, may stop our production, and we"
            " may be unable to pass higher prices on to our customers in time or at all.",
            "Our information systems may be breached. [[breach|{breach}]] We maintain insurance against such events,"
            " but its limits may be too low, and the costs of an investigation, of notices to those affected and of"
            " lost business may exceed what is recovered. Laws on the protection of data grow stricter every year.",
            "Our indebtedness may limit what we can do. Covenants restrict our ability to borrow more, to pay"
            " dividends, to sell assets and to merge with others. [[covenants|{covenants}]] A breach would entitle"
            " our lenders to demand payment at once, and a default under one agreement may be a default under others.",
            "We are subject to laws on the environment, which impose liability for the cleaning of sites regardless"
            " of fault. [[environment|At the end of fiscal {year} we had accrued {environment} million for the"
            " remediation of {remediated} sites.]] Actual costs may exceed what was accrued, as the extent of"
            " contamination is often unknown until the work has begun.",
        ),
    ),
    (
        "Results of operations",
        (
            "[[revenue|Net revenue was {revenue} million in fiscal {year}, compared with {revenue_before} million in"
            " fiscal {before}.]] The change reflects volume, price and mix in about equal parts, as well as one week"
            " less than in some earlier years. Acquisitions had no material effect on net revenue in either year.",
            "[[margin|Gross margin was {margin} % of net revenue in fiscal {year}, compared with {margin_before} % in"
            " fiscal {before}.]] The cost of energy and freight changed more than our prices did. We expect that it"
            " will take several quarters until contracts reflect the present level of costs.",
            "[[administrative|Selling, general and administrative expenses came to {administrative} million in fiscal"
            " {year}.]] They include salaries, incentive compensation, professional fees and the depreciation of"
            " office equipment. [[research|Expenses for research and development were {research} million.]]",
            "[[quarter-1|In the first quarter of fiscal {year}, operating income was {quarter1} million.]]" + _QUARTER,
            "[[quarter-2|In the second quarter of fiscal {year}, operating income was {quarter2} million.]]" + _QUARTER,
            "[[quarter-3|In the third quarter of fiscal {year}, operating income was {quarter3} million.]]" + _QUARTER,
            "[[quarter-4|In the fourth quarter of fiscal {year}, operating income was {quarter4} million.]]" + _QUARTER,
            "[[goodwill|{goodwill}]]" + _GOODWILL,
        ),
    ),
    (
        "Segments",
        (
            "We manage our business in three segments by region. The table shows net revenue and operating income in"
            " millions of dollars, and the number of employees at the end of fiscal {year}.",
            "{table}",
            "Sales between segments are made at prices that approximate those of the market, and are eliminated. No"
            " asset is allocated to a segment for the purpose of measuring its performance.",
        ),
    ),
    (
        "Liquidity and capital resources",
        (
            "[[cash|Cash and cash equivalents were {cash} million at the end of fiscal {year}, compared with"
            " {cash_before} million at the end of fiscal {before}.]] We believe that cash on hand, cash from"
            " operations and our credit facility will meet our needs for at least the next twelve months.",
            "[[facility|Our revolving credit facility provides for borrowings of up to {facility} million and matures"
            " in {facility_end}.]] [[drawn|At the end of fiscal {year}, {drawn} million were outstanding under it.]]"
            " Interest is due quarterly at a variable rate plus a margin that depends on our leverage.",
            *(
                f"[[note-{number}|Our notes due {{due{number}}} bear interest at {{rate{number}}} % a year, and"
                f" {{notes{number}}} million of them were outstanding at the end of fiscal {{year}}.]]{_NOTES}"
                for number in (1, 2, 3)
            ),
            "[[capital|Capital expenditures were {capital} million in fiscal {year}, compared with {capital_before}"
            " million in fiscal {before}.]] They were made for the maintenance of plants, for vehicles and for"
            " information systems. We expect about the same amount in the following year.",
            "[[dividend|{dividend}]] [[repurchase|{repurchase}]] The payment of dividends and the purchase of our own"
            " shares are at the discretion of the board of directors and depend on our results, our plans and the"
            " restrictions of our agreements with lenders.",
        ),
    ),
    (
        "Controls and procedures",
        (
            "Our management evaluated the effectiveness of our internal control over financial reporting at the end of"
            " fiscal {year}. [[control|{control}]]" + _CONTROL,
        ),
    ),
    (
        "Legal proceedings",
        (
            *(
                f"[[case-{number}|In the matter of {{case{number}}} v. {{legal}}, the plaintiffs claim"
                f" {{claim{number}}} million on account of deliveries in fiscal {{before}} and before.]]"
                f" [[reserve-{number}|{{reserve{number}}}]]{_CASE}"
                for number in (1, 2, 3)
            ),
        ),
    ),
    (
        "Income taxes, leases and pensions",
        (
            "[[tax|Our effective tax rate was {tax} % in fiscal {year}, compared with {tax_before} % in fiscal"
            " {before}.]] The difference to the statutory rate is due to state taxes, to credits for research and to"
            " expenses that cannot be deducted. [[benefits|Unrecognized tax benefits were {benefits} million at the"
            " end of fiscal {year}.]] We do not expect them to change materially within twelve months.",
            "[[rent|Rent expense was {rent} million in fiscal {year}.]] Most leases are of warehouses, vehicles and"
            " offices. Options to renew are included in the term of a lease where it is reasonably certain that we"
            " will use them, and variable payments are expensed as they are incurred.",
            "[[pension|The projected obligation of our pension plan exceeded its assets by {pension} million at the"
            " end of fiscal {year}, at a discount rate of {discount} %.]] The plan was closed to new participants in"
            " 2009. Contributions follow the minimum that the law requires, and benefits depend on years of service.",
        ),
    ),
)

CLAIMS: dict[str, tuple[str, str]] = {
    "strike": (
        "We experienced a work stoppage in fiscal {year}, which lasted eleven days.",
        "We did not experience any work stoppage in fiscal {year}.",
    ),
    "breach": (
        "In fiscal {year} we identified an incident in which persons without authority had access to customer data.",
        "In fiscal {year} we identified no incident in which persons without authority had access to customer data.",
    ),
    "covenants": (
        "At the end of fiscal {year} we were not in compliance with one of these covenants, and obtained a waiver.",
        "At the end of fiscal {year} we were in compliance with all of these covenants, and needed no waiver.",
    ),
    "goodwill": (
        "We recorded an impairment of goodwill in fiscal {year}, as the fair value of a unit was below its carrying"
        " amount.",
        "We did not record an impairment of goodwill in fiscal {year}, as the fair value of no unit was below its"
        " carrying amount.",
    ),
    "dividend": ("We paid a cash dividend in fiscal {year}.", "We did not pay a cash dividend in fiscal {year}."),
    "repurchase": (
        "We repurchased shares of our common stock in fiscal {year}.",
        "We did not repurchase any shares of our common stock in fiscal {year}.",
    ),
    "control": (
        "Based on this evaluation, they concluded that our internal control was not effective because of a material"
        " weakness.",
        "Based on this evaluation, they concluded that our internal control was effective and had no material"
        " weakness.",
    ),
    "reserve1": (
        "A loss is probable, and we have established a reserve for this matter.",
        "A loss is not probable, and we have established no reserve for this matter.",
    ),
    "reserve3": (
        "A loss is probable, and we have established a reserve for this matter.",
        "A loss is not probable, and we have established no reserve for this matter.",
    ),
    "reserve2": (
        "A loss is probable, and we have established a reserve for this matter.",
        "A loss is not probable, and we have established no reserve for this matter.",
    ),
}
"""Sentences that are true in some years and denied in others."""

COMPARED = ("revenue", "margin", "cash", "capital", "tax")
"""Facts that the next year's filing tells, too: either place answers."""

QUESTIONS: dict[str, str] = {
    "employees": "How many people worked full-time for {name} when fiscal {year} ended?",
    "strike": "Was there a strike at {name} in {year}?",
    "sites": "How many sites did {name} operate according to its {year} report?",
    "customers": "What share of the {year} revenue of {name} came from its ten largest customers?",
    "suppliers": "How much of its purchases did {name} get from three suppliers in {year}?",
    "breach": "Did intruders get at customer data of {name} in {year}?",
    "covenants": "Did {name} comply with the covenants of its loans at the end of {year}?",
    "environment": "How much had {name} accrued for cleaning up contaminated sites by the end of {year}?",
    "revenue": "What was the net revenue of {name} in fiscal {year}?",
    "margin": "What gross margin did {name} achieve in {year}?",
    "administrative": "What did {name} spend on selling and administration in {year}?",
    "research": "What did {name} spend on research and development in fiscal {year}?",
    "quarter-1": "What was the operating income of {name} in the first quarter of {year}?",
    "quarter-2": "What was the operating income of {name} in the second quarter of {year}?",
    "quarter-3": "What was the operating income of {name} in the third quarter of {year}?",
    "quarter-4": "What was the operating income of {name} in the fourth quarter of {year}?",
    "goodwill": "Did {name} write down goodwill in {year}?",
    "segment-1": "What did the Northern segment of {name} earn in fiscal {year}?",
    "segment-2": "What did the Central segment of {name} earn in fiscal {year}?",
    "segment-3": "How many employees did the Coastal segment of {name} have at the end of {year}?",
    "cash": "How much cash did {name} hold at the end of fiscal {year}?",
    "facility": "How much may {name} borrow under its revolving credit facility, as of {year}?",
    "drawn": "How much had {name} drawn on its credit facility at the end of {year}?",
    "note-1": "What interest do the notes of {name} due {due1} bear, and how many were outstanding in {year}?",
    "note-2": "What interest do the notes of {name} due {due2} bear, and how many were outstanding in {year}?",
    "note-3": "What interest do the notes of {name} due {due3} bear, and how many were outstanding in {year}?",
    "capital": "What were the capital expenditures of {name} in {year}?",
    "dividend": "Did {name} pay a dividend in {year}?",
    "repurchase": "Did {name} buy back its own stock in {year}?",
    "control": "Was internal control over financial reporting at {name} effective at the end of {year}?",
    "case-1": "How much is claimed from {name} in the case of {case1}, according to the {year} report?",
    "case-2": "How much is claimed from {name} in the case of {case2}, according to the {year} report?",
    "case-3": "How much is claimed from {name} in the case of {case3}, according to the {year} report?",
    "reserve-1": "Has {name} set up a reserve for the {case1} lawsuit in {year}?",
    "reserve-2": "Has {name} set up a reserve for the {case2} lawsuit in {year}?",
    "reserve-3": "Has {name} set up a reserve for the {case3} lawsuit in {year}?",
    "tax": "What was the effective tax rate of {name} in fiscal {year}?",
    "benefits": "How large were the unrecognized tax benefits of {name} at the end of {year}?",
    "rent": "What rent did {name} pay in {year}?",
    "pension": "By how much was the pension plan of {name} underfunded at the end of {year}?",
}
NUMBERS: dict[str, str] = {
    "revenue": "Who reported net revenue of {revenue} million?",
    "capital": "Which company had capital expenditures of {capital} million, and when?",
    "pension": "Whose pension obligation exceeded the assets of the plan by {pension} million?",
    "facility": "Who can borrow up to {facility} million under a revolving credit facility until {facility_end}?",
}
"""Questions that give the number and ask for the rest."""
