"""Write the samples of Office formats and Outlook's mail in tests/golden: `python -m tests.make_office`."""

from tests import outlook_writer as outlook
from tests.make_golden import FOLDER

_TICKS_OF_2025 = 133_801_632_000_000_000


def field_report() -> bytes:
    """Return an Outlook message with a file and a message attached."""
    inner = outlook.message(
        {outlook.SUBJECT: "Mast 4", outlook.BODY: "Ice on mast 4.", outlook.SENDER: "Milo"}, header=24
    )
    text = (
        "The road is open again.\r\n\r\n- Mast 3: sound\r\n- Mast 4: iced\r\n\r\n________________________________\r\n"
    )
    text += "From: Milo\r\nSent: Monday\r\nTo: Rafe\r\nSubject: Road\r\n\r\nIs the road open?\r\n"
    masts: outlook.Properties = {outlook.LONG_FILE: "masts.csv", outlook.CONTENT: b"mast,ice\n3,0\n4,1\n"}
    return outlook.as_file(
        outlook.message(
            {
                outlook.SUBJECT: "RE: Road",
                outlook.BODY: text,
                outlook.SENDER: "Rafe Amundi",
                outlook.SENDER_MAIL: "rafe@serrach.example",
                outlook.SENT: _TICKS_OF_2025,
            },
            [
                {outlook.NAME: "Milo", outlook.MAIL: "milo@serrach.example", outlook.KIND: 1},
                {outlook.NAME: "Küche", outlook.KIND: 2},
            ],
            [masts, inner],
        )
    )


MAKERS = {"msg/report.msg": field_report}

if __name__ == "__main__":
    for name, make in MAKERS.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(make())
