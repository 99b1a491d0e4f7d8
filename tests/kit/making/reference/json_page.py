"""The page on JSON."""


def made() -> str:
    return ""
