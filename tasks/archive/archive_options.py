"""Archive options: limits for opening an archive, and an account of what was used."""

from dataclasses import dataclass, field

from docmill.storage.errors import ConfigError, Rejected

_SMALL_BYTES = 20_000_000  # unpacked: harmless, and small texts of one repeated line may compress a thousandfold


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Limits for an outermost archive with everything nested in it, and the passwords to try.

    `members` and `total_bytes` are counted over all levels, `ratio` (unpacked to packed bytes) for each archive.
    `depth` is the maximum number of levels, `member_bytes` the maximum size of a member. With `pictures`, the pictures
    that a mail shows in its text are members, too; only OCR gives them text.
    """

    members: int = 10_000
    total_bytes: int = 1_000_000_000
    ratio: float = 200.0
    depth: int = 4
    member_bytes: int = 100_000_000
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})
    pictures: bool = False

    def __post_init__(self) -> None:
        for name in ("members", "total_bytes", "ratio", "depth", "member_bytes"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"archives: {name} must be above 0, got {getattr(self, name)}")


class OverLimit(Rejected):
    """The outermost archive as a whole exceeds a limit."""


class OverRatio(Rejected):
    """An archive unpacks to too many bytes for its size."""


class Account:
    """The members and bytes unpacked so far from one outermost archive. Declared sizes are not trusted."""

    def __init__(self, options: ArchiveOptions) -> None:
        self.options = options
        self._members = 0
        self._bytes = 0

    def member(self) -> None:
        """Count a member; raise OverLimit if there are too many."""
        self._members += 1
        if self._members > self.options.members:
            raise OverLimit("too_large", f"more than {self.options.members} members (archives.max_members)")

    def take(self, count: int) -> None:
        """Count unpacked bytes; raise OverLimit if there are too many."""
        self._bytes += count
        if self._bytes > self.options.total_bytes:
            raise OverLimit("too_large", f"unpacks to more than {self.options.total_bytes} bytes (archives.max_bytes)")


class Share:
    """The part of an account that one archive of `packed` bytes uses."""

    def __init__(self, account: Account, packed: int) -> None:
        self.options = account.options
        self._account = account
        self._packed = packed
        self._bytes = 0

    def take(self, count: int) -> None:
        """Count unpacked bytes; raise OverRatio if there are too many for this archive."""
        self._bytes += count
        ratio = self.options.ratio
        if self._bytes > _SMALL_BYTES and self._bytes > ratio * self._packed:
            raise OverRatio(
                "too_large", f"{self._packed} bytes unpack to more than {ratio:g} times as many (archives.max_ratio)"
            )
        self._account.take(count)
