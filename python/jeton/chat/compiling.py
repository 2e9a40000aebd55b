"""Compilation of chat templates to code that performs each operation through the `Sandbox`.

Jinja's own sandbox intercepts calls, attributes and operators. Slices, comparisons, ``~``, literals and loop iterations
compile to plain Python, so `SandboxTransformer` replaces them in the syntax tree with calls of the sandbox. The size of
the tree is limited before code is generated.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Undefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.visitor import NodeTransformer

from ..errors import ChatTemplateError

__all__ = ["BriefUndefined", "GenerationBlock", "SandboxCodeGenerator", "SandboxTransformer"]


class GenerationBlock(Extension):
    """Jinja extension for ``{% generation %} … {% endgeneration %}``, which marks the text that the model generates."""

    tags = {"generation"}  # noqa: RUF012  (a class attribute, as Jinja expects)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = nodes.Call(nodes.EnvironmentAttribute("generated"), [], [], None, None)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)


# Maximum number of nodes in a syntax tree. A tree of this size takes 2 s to compile; published templates have about
# 5,000 nodes.
_MAX_NODES = 1 << 15
# Limit for number of names × number of branches. Jinja copies the symbol table for each branch.
_MAX_SYMBOLS = 1 << 20
_LITERALS = (nodes.Const, nodes.Dict, nodes.List, nodes.Neg, nodes.Slice, nodes.Tuple)
_BRANCHES = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock, nodes.With, nodes.FilterBlock, nodes.AssignBlock)


class SandboxTransformer(NodeTransformer):
    """Replaces each operation that Jinja would compile to plain Python with a call of the sandbox."""

    def __init__(self) -> None:
        self._nodes = self._branches = 0
        self._names: set[str] = set()

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        self._nodes += 1
        self._branches += isinstance(node, _BRANCHES)
        if isinstance(node, nodes.Name):
            self._names.add(node.name)
        if self._nodes > _MAX_NODES or self._branches * len(self._names) > _MAX_SYMBOLS:
            raise ChatTemplateError("the chat template is too large to compile")
        return super().visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        target = node.target
        turn: list[nodes.Expr] = [nodes.Name(target.name, "load")] if isinstance(target, nodes.Name) else []
        node.body.insert(0, _told("enter", turn, node))
        if node.test is not None:
            node.test = nodes.And(_called("passed", [], node), node.test).set_lineno(node.lineno)
        return [_told("before", [], node), node, _told("after", [], node)]

    def visit_Output(self, node: nodes.Output, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [
            nodes.TemplateData(child.value).set_lineno(child.lineno)  # type: ignore[misc]
            if isinstance(child, nodes.Const) and isinstance(child.value, str)
            else child
            for child in node.nodes
        ]
        return node

    def visit_Concat(self, node: nodes.Concat, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("joined", node.nodes, node)

    def visit_List(self, node: nodes.List, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node)

    def visit_Tuple(self, node: nodes.Tuple, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        return _called("made", [node], node) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        for pair in node.items:
            if not isinstance(pair.key, nodes.Const):
                pair.key = _called("key", [pair.key], node)
        return _called("made", [node], node)

    def visit_Getitem(self, node: nodes.Getitem, *args: Any) -> Any:  # noqa: N802
        is_literal = isinstance(node.arg, nodes.Slice) and all(
            isinstance(part, _LITERALS) for part in node.find_all(nodes.Expr)
        )
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = [bound or nodes.Const(None) for bound in (node.arg.start, node.arg.stop, node.arg.step)]
        return _called("sliced_literal" if is_literal else "sliced", [node.node, *bounds], node)

    def visit_Compare(self, node: nodes.Compare, *args: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        values = [node.expr]
        for operand in node.ops:
            values += (nodes.Const(operand.op), operand.expr)
        return _called("compared", values, node)

    def visit_ScopedEvalContextModifier(self, node: nodes.Node, *args: Any) -> Any:  # noqa: N802
        raise ChatTemplateError("{% autoescape %} is not supported in a chat template", line=node.lineno)


def _called(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Call:
    call = nodes.Call(nodes.EnvironmentAttribute(name), values, [], None, None)
    return call.set_lineno(near.lineno)  # type: ignore[return-value]


def _told(name: str, values: list[nodes.Expr], near: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(_called(name, values, near)).set_lineno(near.lineno)


class SandboxCodeGenerator(CodeGenerator):
    """Compiles calls inserted by `SandboxTransformer` to direct method calls; other calls go through `Sandbox.call`."""

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: N802
        if forward_caller or not isinstance(node.node, nodes.EnvironmentAttribute):
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        self.write(f"environment.{node.node.name}(")
        for argument in node.args:
            self.visit(argument, frame)
            self.write(", ")
        self.write(")")


class BriefUndefined(Undefined):
    """Jinja's `Undefined` with a different error message: it omits names of more than 100 characters."""

    __slots__ = ()  # as in Jinja's class; otherwise, Jinja would call `__dict__` unsafe, not undefined

    @property
    def _undefined_message(self) -> str:
        if not isinstance(self._undefined_name, str | int | None) or len(str(self._undefined_name)) > 100:
            return "an element does not exist"
        return super()._undefined_message
