"""Attack stores until faults have met them hundreds of times: `python -m tests.soak_store [--kills 200] [--seed 1]`.

It prints a table with a row for each attack, and exits with status 1 if a row was lost, a store differs from a clean
build of the same documents, or an attack met nothing.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.kit.remote_bench import object_store
from tests.soak_store import children, faults, kills, ledger
from tests.soak_store.faulty_proxy import Weather, faulty
from tests.soak_store.places import Place, Room, in_bucket, in_folder
from tests.soak_store.verbs import VERBS, models, write_models

_IN_FOLDER = 0.6  # share of the kills; a kill on a bucket takes three times as long

_ATTACKS = {
    "full disk": faults.fill_disk,
    "two writers at once": faults.two_at_once,
    "changing source": faults.churn,
}


def main() -> int:
    """Run all attacks; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak_store", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kills that meet a live process, over all verbs")
    parser.add_argument("--rounds", type=int, default=10, help="runs of each other attack")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tallies: list[ledger.Tally] = []

    def show(own: ledger.Tally) -> None:
        tallies.append(own)
        ledger.print_row(own)

    with tempfile.TemporaryDirectory(prefix="soak-store-") as name, object_store() as environment:
        folder = Path(name)
        model = write_models(folder / "models")
        ledger.print_head()
        with models(model), children.many_children():
            room = Room(folder, model, random.Random(given.seed))
            local = round(given.kills * _IN_FOLDER)
            _kill_all(in_folder(), local, show, room)
            _kill_all(in_bucket(environment), given.kills - local, show, room)
            _strike_all(environment, given.rounds, show, room)
    ledger.print_sum(tallies)
    return 0 if all(own.held for own in tallies) else 1


def _kill_all(place: Place, wanted: int, show: ledger.Show, room: Room) -> None:
    for verb, share in zip(VERBS, kills.shares(wanted, VERBS), strict=True):
        with ledger.tally(f"kill -9 in {verb.name}", place.name, show) as own:
            kills.kill_verb(verb, place, own, share, room.below(f"{place.name}/{verb.name}"))


def _strike_all(environment: dict[str, str], rounds: int, show: ledger.Show, room: Room) -> None:
    weather = Weather()
    with faulty(environment, weather) as through:
        for fault in faults.WEATHERS:
            with ledger.tally(f"faulty bucket: {fault}", "bucket", show) as own:
                faults.strike_bucket(in_bucket(through), weather, fault, own, rounds, room.below(fault))
    for name, attack in _ATTACKS.items():
        for place in (in_folder(), in_bucket(environment)):
            with ledger.tally(name, place.name, show) as own:
                attack(place, own, rounds, room.below(f"{name}/{place.name}"))
    with ledger.tally("no symbolic or hard links", "folder", show) as own:
        faults.on_share(in_folder(), own, rounds, room.below("share"))


if __name__ == "__main__":
    sys.exit(main())
