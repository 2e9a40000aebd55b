"""Formats sizes and durations for people."""

from __future__ import annotations

from ..util.messages import counted, translate

__all__ = ["counted", "seconds", "size"]


def size(num_bytes: int) -> str:
    """Formats a number of bytes in decimal units, as in progress bars.

    Examples:
        >>> size(999), size(31_525_224)
        ('999 bytes', '31.5 MB')
    """
    if num_bytes < 1000:
        return counted(num_bytes, "byte")
    amount, units = num_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while amount >= 999.95 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.1f} {units[0]}"


def seconds(duration: float) -> str:
    """Formats a duration with two or three significant digits.

    Examples:
        >>> seconds(0.0421), seconds(4.21), seconds(190.4), seconds(7430)
        ('42 ms', '4.2 s', '3 min 10 s', '2 h 3 min')
    """
    if duration < 1:
        return translate("{number} ms", number=f"{duration * 1000:.0f}")
    if duration < 60:
        return translate("{number} s", number=f"{duration:.1f}")
    if duration < 3600:
        return translate("{minutes} min {seconds} s", minutes=int(duration) // 60, seconds=int(duration) % 60)
    return translate("{hours} h {minutes} min", hours=f"{duration // 3600:,.0f}", minutes=int(duration) // 60 % 60)
