"""Options and output of the commands that change a vocabulary: extend, merge-vocab, prune, add-words."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..util.atomic import write_atomically
from ..util.messages import translate
from .options import CommonOptions
from .outputs import check_file, check_tokenizer, save_tokenizer
from .quantities import counted
from .streams import write, write_json

if TYPE_CHECKING:
    import jeton

__all__ = ["SurgeryOutput", "surgery_options"]

Function = Callable[..., None]


@dataclass(frozen=True)
class SurgeryOutput:
    """Outputs of a command: the new tokenizer, the plan for its embeddings, and a model with new embeddings.

    Attributes:
        path: path of the tokenizer.
        accept_loss: as in `Tokenizer.save`.
        plan: file for the plan as JSON, or None.
        model: paths of the model's old and new files, or None.
        multiple_of: the number of rows of the model's embeddings is padded to a multiple of this number.
    """

    path: str
    accept_loss: tuple[str, ...]
    plan: str | None
    model: tuple[str, str] | None
    multiple_of: int

    def check(self) -> None:
        """Checks the output paths, before the command does its work.

        Raises:
            UsageError, OSError: as `check_file` and `check_tokenizer`.
        """
        check_tokenizer(self.path, self.accept_loss)
        check_file(self.plan)
        if self.model is not None and not os.path.exists(self.model[0]):
            raise click.UsageError(f"--model: {self.model[0]} does not exist")

    def save(self, common: CommonOptions, done: jeton.Surgery) -> None:
        """Writes all outputs, and prints the report."""
        save_tokenizer(common, done.tokenizer, self.path, self.accept_loss)
        if self.plan is not None:
            with write_atomically(self.plan, streams=True) as file:
                file.write(json.dumps(done.plan.to_json()).encode())
        shapes = None
        if self.model is not None:
            shapes = done.plan.apply(*self.model, multiple_of=self.multiple_of)
        if common.as_json:
            facts = {"path": self.path, "fingerprint": done.tokenizer.fingerprint, **done.to_json()["report"]}
            write_json(facts if shapes is None else {**facts, "tensors": shapes})
            return
        write(repr(done))
        tokens = counted(len(done.tokenizer), "token")
        common.say(translate("saved    {path}: {tokens}", path=self.path, tokens=tokens))
        if self.plan is not None:
            rows = counted(done.plan.num_new, "row")
            common.say(translate("saved    {path}: the plan of {rows}", path=self.plan, rows=rows))
        for name, shape in (shapes or {}).items():
            common.say(translate("changed  {name}: {shape}", name=name, shape=" × ".join(map(str, shape))))


def surgery_options(command: Function) -> Function:
    """Adds the options of a `SurgeryOutput` to a command, which gets them in one argument, `output`."""

    @click.option("-o", "--output", "path", required=True, metavar="OUT", help="Output: my.json, or a folder.")
    @click.option(
        "--accept-loss",
        multiple=True,
        metavar="NAME",
        help="Save without this feature, which OUT's format cannot express; errors state its name (repeatable).",
    )
    @click.option("--plan", metavar="FILE", help="Write as JSON from which old rows each new embedding row is made.")
    @click.option(
        "--model",
        nargs=2,
        metavar="IN OUT",
        help="Write a model with embeddings for the new ids: .safetensors files or folders.",
    )
    @click.option(
        "--multiple-of",
        type=click.IntRange(1),
        default=1,
        metavar="N",
        help="Pad the number of embedding rows to a multiple of N.",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        path: str,
        accept_loss: tuple[str, ...],
        plan: str | None,
        model: tuple[str, str] | None,
        multiple_of: int,
        **rest: Any,
    ) -> None:
        command(*args, output=SurgeryOutput(path, accept_loss, plan, model or None, multiple_of), **rest)

    return wrapped
