"""Claim: what documents with a known content say of one thing that a reader gets wrong easily."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Claim:
    """How often something known comes back as it is, and how often something else stands in its place."""

    name: str
    right: int = 0
    of: int = 0
    false: int = 0
    missed: list[str] = field(default_factory=list)

    def judge(self, right: bool, said: str) -> None:
        """Count one thing that should come back; `said` tells of it if it does not."""
        self.of += 1
        self.right += right
        if not right:
            self.missed.append(said)

    def refute(self, said: str) -> None:
        """Count one thing that nobody wrote."""
        self.false += 1
        self.missed.append(said)
