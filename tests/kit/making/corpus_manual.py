"""Set the installation manual of the corpus: headings, lists, tables, furniture and one page in two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.kit.writers.pdf import HEIGHT, WIDTH, Pdf, wrap

MARGIN, TOP, BOTTOM, GUTTER = 64, HEIGHT - 92, 72, 22
SIZES = {1: 18.0, 2: 13.0}
HEADER = "Ptarmigan SRC-400 \u00b7 Installation Manual"
INFO = {
    "Title": "Ptarmigan SRC-400 Installation Manual",
    "Author": "Tomas Verell",
    "Subject": "Foundation, mast, wiring and commissioning",
    "Producer": "tests/make_corpus.py",
    "CreationDate": "D:20241202080000Z",
    "ModDate": "D:20241202080000Z",
}


@dataclass(slots=True)
class Setter:
    """A cursor that fills columns from the top, and pages from the left column."""

    pdf: Pdf
    columns: int = 1
    column: int = 0
    y: float = TOP

    @property
    def width(self) -> float:
        return (WIDTH - 2 * MARGIN - GUTTER * (self.columns - 1)) / self.columns

    @property
    def x(self) -> float:
        return MARGIN + self.column * (self.width + GUTTER)

    def page(self, columns: int = 1) -> None:
        """Begin a page with its header and footer."""
        self.pdf.add_page()
        self.columns, self.column, self.y = columns, 0, TOP
        self.pdf.text(MARGIN, HEIGHT - 50, HEADER, 8, "italic")
        self.pdf.text(WIDTH - MARGIN - 98, HEIGHT - 50, "Serrach Instruments", 8, "italic")
        self.pdf.rule(MARGIN, HEIGHT - 56, WIDTH - 2 * MARGIN)
        self.pdf.text(MARGIN, 40, "IM-400-EN, revision 7, December 2024", 8)
        self.pdf.text(WIDTH - MARGIN - 48, 40, f"Page {len(self.pdf.pages)} of 6", 8)

    def room(self, points: float) -> None:
        """Go to the next column if fewer than `points` are left in this one."""
        if self.y - points < BOTTOM:
            if self.column + 1 == self.columns:
                raise ValueError(f"page {len(self.pdf.pages)} is full; begin a new one by hand")
            self.column, self.y = self.column + 1, TOP

    def heading(self, level: int, text: str) -> None:
        size = SIZES[level]
        self.room(size * 4)
        self.y -= size * (1.5 if self.y < TOP else 1.0)
        self.pdf.outline.append((level, text, len(self.pdf.pages) - 1, self.y + size))
        self.pdf.text(self.x, self.y, text, size, "bold")
        self.y -= 8

    def paragraph(self, text: str, indent: float = 0, mark: str = "") -> None:
        lines = wrap(text, 10, self.width - indent)
        self.room(14 * min(len(lines), 2))
        for number, line in enumerate(lines):
            self.room(14)
            self.y -= 14
            if mark and number == 0:
                self.pdf.text(self.x + 2, self.y, mark)
            self.pdf.text(self.x + indent, self.y, line)
        self.y -= 5

    def bullets(self, items: Sequence[str]) -> None:
        for item in items:
            self.paragraph(item, 14, "\u2022")

    def steps(self, items: Sequence[str]) -> None:
        for number, item in enumerate(items, 1):
            self.paragraph(item, 20, f"{number}.")

    def table(self, widths: Sequence[float], rows: Sequence[Sequence[str]]) -> None:
        """Draw rows of one line each; `widths` are fractions of the column."""
        self.room(16 * len(rows))
        for number, row in enumerate(rows):
            self.y -= 16
            x = self.x
            for cell, share in zip(row, widths, strict=True):
                self.pdf.text(x, self.y, cell, 9, "regular" if number else "bold")
                x += share * self.width
            self.pdf.rule(self.x, self.y - 4, self.width, 0.3 if number else 0.8)
        self.y -= 12

    def code(self, lines: Sequence[str]) -> None:
        self.room(12 * len(lines))
        for line in lines:
            self.y -= 12
            self.pdf.text(self.x + 10, self.y, line, 9, "mono")
        self.y -= 8


# fmt: off
# The text of the manual is laid out as it is read.


def cover(out: Setter) -> None:
    out.page()
    out.pdf.text(MARGIN, HEIGHT - 200, "Ptarmigan SRC-400", 30, "bold")
    out.pdf.text(MARGIN, HEIGHT - 234, "Installation Manual", 20)
    out.y = HEIGHT - 290
    out.paragraph(
        "This manual is written for technicians who put up a snow station for the first time, and for those who have "
        "done it so often that they skip the third chapter. It covers the models SRC-400 and SRC-400-6 with firmware "
        "3.4 or later."
    )
    out.paragraph(
        "Two people need two days: one for the foundation and one, at least seven days later, for the mast, the "
        "probes and the wiring. Raising the mast takes three people."
    )
    out.y -= 30
    for number, title in enumerate(("Before you go up", "Foundation and mast", "Probes and wiring", "Troubleshooting",
                                    "Commissioning and care"), 1):
        out.pdf.text(MARGIN + 10, out.y, f"{number}   {title}", 11)
        out.pdf.text(WIDTH - MARGIN - 20, out.y, f"{number + 1}", 11)
        out.y -= 20


def before(out: Setter) -> None:
    out.page()
    out.heading(1, "1 Before you go up")
    out.heading(2, "1.1 The site")
    out.paragraph(
        "A snow station measures what lies below it. Choose a level place of at least five by five metres where snow "
        "neither drifts in nor is blown away: small clearings are better than ridges, and a meadow is better than a "
        "boulder field. Keep a distance of twice the height of the mast from trees, lift pylons and groomed pistes."
    )
    out.paragraph(
        "Clear the ground below the probe of bushes and stones. A single alder twig under the cone of the snow "
        "probe is reported as twenty centimetres of snow until the middle of winter."
    )
    out.heading(2, "1.2 What to carry")
    out.table((0.52, 0.16, 0.32), (
        ("Part", "Pieces", "Weight"),
        ("Mast section 2.25 m", "2", "17 kg each"),
        ("Ground anchor with plate", "4", "2.8 kg each"),
        ("Guy rope 5 mm with turnbuckle", "3", "1.1 kg each"),
        ("Battery case BAT-240", "1", "9.5 kg"),
        ("Solar panel 40 W with bracket", "1", "4.6 kg"),
        ("Cross arm with N3 and S1", "1", "3.9 kg"),
        ("Rain gauge H7", "1", "4.2 kg"),
        ("Fast-setting concrete", "4 bags", "25 kg each"),
    ))
    out.paragraph("The tall model SRC-400-6 has a third mast section and a second set of guy ropes.")
    out.heading(2, "1.3 Safety")
    out.bullets((
        "Follow the field safety policy. Nobody works alone above the tree line, and nobody raises a mast in a wind "
        "above 12 m/s.",
        "Between 1 November and 15 May ask the avalanche warning service for the danger level on the morning "
        "of the trip.",
        "Leave when you hear thunder, whether or not the guy ropes are tight. Put the mast down if it is not yet "
        "held by all three.",
        "The battery holds enough energy to weld a ring to a finger. Take rings off.",
    ))


def foundation(out: Setter) -> None:
    out.page()
    out.heading(1, "2 Foundation and mast")
    out.heading(2, "2.1 Foundation")
    out.steps((
        "Dig a hole of 50 by 50 cm, 80 cm deep. On rock, drill four holes of 18 mm and use the anchor plate "
        "with resin.",
        "Set the base tube in concrete so that it stands 15 cm above ground. Align it with the level on two sides.",
        "Push the conduit for the battery cable through the side of the hole before the concrete sets.",
        "Let the concrete harden for seven days above +5 °C. Below that temperature do not pour at all.",
    ))
    out.heading(2, "2.2 Raising the mast")
    out.steps((
        "Join the sections on the ground and fit cross arm, panel and rain gauge while you can reach them.",
        "Fix the three guy ropes to the collar at two thirds of the height.",
        "Hinge the mast on the base tube. Two people lift, one holds the rope opposite. Do not stand below the mast.",
        "Tighten the turnbuckles evenly until each rope carries 400 N, and secure them with wire.",
        "Check that the mast is plumb. At six metres one degree of tilt moves the footprint of the probe by 10 cm.",
    ))
    out.heading(2, "2.3 Torque")
    out.table((0.5, 0.2, 0.3), (
        ("Screw", "Size", "Torque"),
        ("Flange of the mast sections", "M12", "65 Nm"),
        ("Hinge bolt", "M16", "120 Nm"),
        ("Clamp of the cross arm", "M8", "18 Nm"),
        ("Bracket of the solar panel", "M6", "7 Nm"),
        ("Housing lid", "M4", "1.5 Nm, crosswise"),
    ))
    out.paragraph("Check all screws again after the first winter. Galvanised flanges settle by a few hundredths.")


def wiring(out: Setter) -> None:
    out.page()
    out.heading(1, "3 Probes and wiring")
    out.heading(2, "3.1 Snow depth probe N3")
    out.paragraph(
        "The probe must look straight down. Set the height of the transducer above bare ground with a tape measure "
        "to one centimetre and write it down, for nobody will be able to measure it again until summer. The cone "
        "of sound has an opening of 22 degrees, so that at four metres it covers a circle of 1.6 m on the ground."
    )
    out.heading(2, "3.2 Terminals")
    out.table((0.14, 0.3, 0.28, 0.28), (
        ("Terminal", "Signal", "Colour", "Note"),
        ("1", "Battery +", "red", "fuse 5 A"),
        ("2", "Battery -", "black", ""),
        ("3", "Panel +", "brown", "connect after 1 and 2"),
        ("4", "Panel -", "blue", ""),
        ("5", "RS-485 A", "green", "all probes"),
        ("6", "RS-485 B", "yellow", "all probes"),
        ("7", "Heating H7", "white, 1.5 mm", "18 W at most"),
        ("8", "Shield", "bare", "one end only"),
    ))
    out.paragraph(
        "Connect the battery before the panel. In the opposite order the charge controller takes the open voltage "
        "of the panel, 22 V, for a battery of 24 V and stays in that belief until it is reset."
    )
    out.heading(2, "3.3 Addresses of the probes")
    out.code((
        "$ ridge connect /dev/ttyACM0",
        "Ptarmigan SRC-400 rev B, serial 400-00171, Firn 3.4.0",
        "$ ridge probes",
        "addr 10  T2  ok    addr 12  N3  ok",
        "addr 11  S1  ok    addr 14  H7  ok",
        "$ ridge set mount.height_mm 4200",
        "$ ridge set mount.blanking_mm 300",
        "$ ridge save",
    ))
    out.paragraph(
        "Two probes with the same address answer at once and neither is understood. New probes leave the house with "
        "their usual address; change it only when a station has two of a kind."
    )


def troubleshooting(out: Setter) -> None:
    out.page(columns=2)
    out.heading(1, "4 Troubleshooting")
    for title, text in (
        ("E11: no air temperature", "The T2 does not answer. Check the plug under the radiation shield. Mice like "
         "its cable; the armoured variant is called T2-A and costs nothing when a mouse has been proved."),
        ("E17: no echo", "Fewer than 16 of 64 pulses were heard. During heavy snowfall this is normal and passes. "
         "If it lasts for more than six hours after the snowfall, look for rime on the transducer, then for a "
         "probe that is no longer vertical."),
        ("E21: surface temperature implausible", "The S1 sees the sky, its own bracket, or a warm animal. Correct "
         "the angle to 40 degrees from the vertical."),
        ("E23: bucket stuck", "The bucket of the H7 has not moved although heating ran and humidity was above 95 %. "
         "Remove needles and spider webs. Do not oil it."),
        ("E31: wind direction stands still", "Water in the wind probe. Probes of batch W5-2309 are replaced free of "
         "charge."),
        ("E42: battery protection", "Below 10.8 V the station switches everything off apart from one frame an "
         "hour. It recovers at 12.4 V. After three such nights in a row look for snow on the panel."),
        ("E55: clock lost", "The station has been without power for more than two days. Time comes back with the "
         "next answer of the gateway. Readings without a time are discarded."),
        ("Depth is constant and wrong by 20 to 60 cm", "An object stands in the cone: a twig, a forgotten ladder, "
         "the foot of a guy rope. Raise the blanking distance only if the object is near the probe."),
        ("Depth wanders by day", "In fine weather the layer of air above the snow is colder than the air at the "
         "probe. Up to 4 cm at five metres are caused by this. Firmware 3.5 will correct it with the surface "
         "temperature."),
        ("Nothing is received", "Read the page of the gateway first: it gives the reason in a sentence. Then measure "
         "the battery, then look at the antenna. The antenna has been the cause in six of ten cases."),
    ):
        out.heading(2, title) if len(title) < 26 else two_lines(out, title)
        out.paragraph(text)


def two_lines(out: Setter, title: str) -> None:
    """Set a heading that is wider than its column."""
    lines = wrap(title, SIZES[2], out.width, "bold")
    out.room(SIZES[2] * 6)
    out.y -= SIZES[2] * (1.5 if out.y < TOP else 1.0)
    out.pdf.outline.append((2, title, len(out.pdf.pages) - 1, out.y + SIZES[2]))
    for line in lines:
        out.pdf.text(out.x, out.y, line, SIZES[2], "bold")
        out.y -= SIZES[2] * 1.15
    out.y += SIZES[2] * 1.15 - 8


def commissioning(out: Setter) -> None:
    out.page()
    out.heading(1, "5 Commissioning and care")
    out.heading(2, "5.1 Commissioning")
    out.steps((
        "Run ridge doctor and wait ninety seconds. All lines must say ok.",
        "Measure the distance from the transducer to the ground and compare it with the reading: 2 cm at most.",
        "Hold a board of 1 m2 below the probe at a height of one metre. The reading must change by 100 cm, plus or "
        "minus 2 cm.",
        "Pour 100 ml of water slowly into the rain gauge. Fifty tips are right, 49 and 51 are permitted.",
        "Send photographs in all four directions to support. They are the first thing we look at when you call.",
    ))
    out.heading(2, "5.2 Before every winter")
    out.bullets((
        "Mow the grass below the probe in October. Grass of 15 cm is snow of 15 cm as far as sound is concerned.",
        "Replace the desiccant bag every second year.",
        "Check the voltage of the battery after a night without charging. Below 12.6 V it should be exchanged.",
        "Grease the hinge bolt. You will be glad of it when the mast has to come down.",
    ))
    out.heading(2, "5.3 Taking the station down")
    out.paragraph(
        "Disconnect the panel before the battery. Lower the mast with three people in the opposite order of "
        "raising it. Cut the base tube level with the ground and cover it with a stone, so that no cow breaks a leg."
    )
    out.heading(2, "5.4 Declaration")
    out.paragraph(
        "Serrach Instruments GmbH, Mühlsteig 4, Sankt Orlen, declares that the station SRC-400 conforms to the "
        "rules for radio equipment and for electromagnetic compatibility that are in force on the day of its "
        "manufacture. The full text is sent on request. Signed: Tomas Verell, head of hardware."
    )


def installation_manual() -> bytes:
    """Return the manual as PDF."""
    out = Setter(Pdf(INFO))
    for chapter in (cover, before, foundation, wiring, troubleshooting, commissioning):
        chapter(out)
    return out.pdf.to_bytes()
