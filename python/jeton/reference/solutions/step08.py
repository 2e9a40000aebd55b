"""An answer to the second exercise of step 8."""

import re


def groups(digits: str) -> list[str]:
    """Cut digits into groups of three from the right."""
    return re.findall(r"\d{1,3}(?=(?:\d{3})*$)", digits)
