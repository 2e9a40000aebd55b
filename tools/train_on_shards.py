"""Trains a tiny PyTorch transformer on shards with `jeton.shards.loader`, and checks its loss document by document.

    PYTHONPATH=python /usr/bin/python3 tools/train_on_shards.py FOLDER… [--rows 64]

Run it with any Python that has PyTorch, such as Debian's (`tools/setup_tools.sh`). It checks, for each folder:

- the loss and the gradients of a batch equal the results of running the model on each document alone, without padding;
  in the batch, attention stays inside of documents (`cu_seqlens`), and positions are set by the loader;
- with ``shift_labels=True``, a training loop that does not shift the labels gets the same loss;
- two processes of a `DataLoader` give the same batches as a plain loop;
- training for some epochs lowers the loss.
"""

from __future__ import annotations

import argparse
import copy
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

import jeton

WIDTH, BATCH, EPOCHS = 32, 4, 4


class Model(nn.Module):  # type: ignore[misc]
    """A model with one layer of attention, which returns the logits of rows of ids."""

    def __init__(self, vocab_size: int, length: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, WIDTH), nn.Embedding(length, WIDTH)
        self.attention, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, vocab_size)

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Returns logits. `mask`[row, i, j] is True where position i may attend to position j."""
        hidden = self.tokens(ids) + self.positions(positions)
        queries, keys, values = self.attention(hidden).chunk(3, -1)
        scores = (queries @ keys.transpose(-1, -2) / math.sqrt(WIDTH)).masked_fill(~mask, -math.inf)
        return self.output(hidden + scores.softmax(-1) @ values)


def inside_documents(batch: dict[str, Tensor]) -> Tensor:
    """Returns the attention mask of a batch, which is causal and stays inside of documents."""
    ids = batch["input_ids"]
    documents = torch.zeros(ids.numel(), dtype=torch.long)
    documents[batch["cu_seqlens"][:-1].long()] = 1
    documents = documents.cumsum(0).reshape(ids.shape)
    causal = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    return (documents[:, :, None] == documents[:, None, :]) & causal


def loss_of(model: Model, batch: dict[str, Tensor], shifted: bool = False) -> Tensor:
    """Returns the mean loss of a batch, as transformers computes it. Shifts the labels unless `shifted` is True."""
    logits, labels = model(batch["input_ids"], batch["position_ids"], inside_documents(batch)), batch["labels"]
    if not shifted:
        logits, labels = logits[:, :-1], labels[:, 1:]
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


def plain_loss(model: Model, batch: dict[str, Tensor]) -> Tensor:
    """Runs the model on each document of a batch alone (position 0 starts a document), and returns the mean loss."""
    ids, positions, masks = (batch[name].flatten().tolist() for name in ("input_ids", "position_ids", "loss_mask"))
    starts = [at for at, position in enumerate(positions) if position == 0]
    losses = []
    for start, end in zip(starts, [*starts[1:], len(ids)]):  # noqa: B905
        learned = [at for at in range(1, end - start) if masks[start + at]]
        if learned:
            document = torch.tensor([ids[start:end]])
            causal = torch.ones(1, end - start, end - start).tril().bool()
            logits = model(document, torch.arange(end - start)[None], causal)[0]
            chosen = torch.tensor(learned)
            losses.append(functional.cross_entropy(logits[chosen - 1], document[0, chosen], reduction="none"))
    return torch.cat(losses).mean()


def gradients(model: Model, loss: Tensor) -> list[Tensor]:
    """Returns the gradients of all parameters."""
    return list(torch.autograd.grad(loss, list(model.parameters())))


def expect(condition: Any, message: str) -> None:
    """Exits with a message unless a condition holds."""
    if not condition:
        raise SystemExit(message)


def train(folder: Path, rows: int | None) -> str:
    """Checks a folder of shards and trains a model on it; returns a line with the results."""
    torch.manual_seed(0)
    options: dict[str, Any] = {"batch": BATCH, "tensors": "torch"}
    dataset = jeton.shards.open(folder)
    rows = dataset.row_length or rows
    batches = jeton.shards.loader(dataset, rows, **options)
    expect(isinstance(batches, torch.utils.data.IterableDataset), "not an IterableDataset")
    expect(type(copy.copy(batches)) is type(batches), "not pickled as it is")
    model = Model(dataset.manifest["vocab_size"], rows or 0)
    order = list(batches)
    trained = [batch for batch in order if (batch["labels"] != -100).any()]
    shifted = next(iter(jeton.shards.loader(dataset, rows, shift_labels=True, **options)))
    expect(torch.allclose(loss_of(model, order[0]), loss_of(model, shifted, shifted=True)), "shifted labels differ")
    first = loss_of(model, trained[0])
    plain = plain_loss(model, trained[0])
    expect(torch.allclose(first, plain, atol=1e-5), f"{folder}: loss {first}, and {plain} document by document")
    pairs = zip(gradients(model, first), gradients(model, plain))  # noqa: B905
    expect(all(torch.allclose(one, other, atol=1e-5) for one, other in pairs), f"{folder}: gradients differ")
    loaded = DataLoader(jeton.shards.loader(dataset, rows, **options), batch_size=None, num_workers=2)
    pairs_of_batches = list(zip(order, loaded))  # noqa: B905
    expect(len(pairs_of_batches) == len(loaded) == len(order), f"{folder}: a DataLoader gives other batches")
    for one, other in pairs_of_batches:
        expect(all(torch.equal(one[name], other[name]) for name in one), f"{folder}: a DataLoader gives other batches")
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    batches.set_epoch(0)
    for _ in range(EPOCHS):
        for batch in batches:
            if (batch["labels"] != -100).any():
                optimizer.zero_grad()
                loss_of(model, batch).backward()
                optimizer.step()
    last = loss_of(model, trained[0])
    expect(last < 0.8 * first, f"{folder}: loss {first}, and {last} after {EPOCHS} epochs")
    return f"{folder.name}: loss {first:.3f} as document by document; {last:.3f} after {EPOCHS} epochs"


def main() -> None:
    """Reads the arguments, and prints a line for each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--rows", type=int, default=64, help="ids of a row of shards that are not packed")
    options = parser.parse_args()
    for folder in options.folders:
        print(train(folder, options.rows), flush=True)
    print(f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
