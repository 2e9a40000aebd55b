"""An answer to the second exercise of step 11."""

import math


def bits_per_byte(loss: float, num_tokens: int, text: str) -> float:
    """Turn a loss in nats per token into bits per byte of the text."""
    return loss * num_tokens / (math.log(2) * len(text.encode("utf-8")))
