"""An answer to the second exercise of step 13."""


def load(text: str) -> tuple[list[tuple[int, int, int]], dict[str, int]]:
    """Read merges and special tokens; raise an error if they contradict each other."""
    merges: list[tuple[int, int, int]] = []
    special: dict[str, int] = {}
    taken = set(range(256))
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("special "):
            _, id, spelling = line.split(" ", 2)
            if int(id) in taken:
                raise ValueError(f"line {number}: id {id} belongs to another token")
            special[spelling] = int(id)
            taken.add(int(id))
            continue
        left, right = map(int, line.split())
        new = 256 + len(merges)
        if not (0 <= left < new and 0 <= right < new):
            raise ValueError(f"line {number}: a merge of {left} and {right} cannot make {new}")
        merges.append((left, right, new))
        taken.add(new)
    return merges, special
