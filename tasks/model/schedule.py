"""Schedule: the order of prompts, such that a provider can cache their common prefix."""

import threading
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from docmill.tasks.model.prompt import Prompt


class CallSchedule:
    """Hands prompts to several threads, in order.

    Of the prompts with the same prefix (all parts but the last), the first goes alone; the others follow once it is
    answered, before any later ones.
    """

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, prompt in enumerate(prompts):
            groups.setdefault(prompt.parts[:-1] or prompt.parts, []).append(number)
        self._prompts = prompts
        self._behind = {numbers[0]: numbers[1:] for numbers in groups.values()}
        self._ready = [(numbers[0], 0, numbers[0]) for numbers in groups.values()]
        heapify(self._ready)
        self._left = len(prompts)
        self._changed = threading.Condition()

    def take(self) -> tuple[int, Prompt] | None:
        """Return the next prompt and its index; wait while none may start, return None when none is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._left == 0)
            if not self._ready:
                return None
            self._left -= 1
            number = heappop(self._ready)[2]
            self._changed.notify_all()
            return number, self._prompts[number]

    def done(self, number: int) -> None:
        """Release the prompts that waited for this one."""
        with self._changed:
            for place, other in enumerate(self._behind.pop(number, ()), start=1):
                heappush(self._ready, (number, place, other))
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out no more prompts."""
        with self._changed:
            self._ready, self._behind, self._left = [], {}, 0
            self._changed.notify_all()
