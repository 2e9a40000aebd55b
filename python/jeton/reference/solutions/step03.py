"""An answer to the second exercise of step 3."""


def unmerge(ids: list[int], merges: list[tuple[int, int, int]]) -> list[int]:
    """Replace each id that came from a merge by its two parts, the last merge first."""
    for left, right, new in reversed(merges):
        ids = [part for id in ids for part in ((left, right) if id == new else (id,))]
    return ids
