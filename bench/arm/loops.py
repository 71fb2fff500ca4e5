# SPDX-License-Identifier: Apache-2.0
"""Finds the innermost loops in the disassembly of an Arm function, wherever the compiler has put their blocks."""
import re

BRANCH = re.compile(r"^((?:b(?:\.\w+)?|cbn?z|tbn?z)\s.*?)([0-9a-f]+) <.*>( //.*)?$")
ENDS = re.compile(r"^(b|br|ret)\b(?!\.)")  # what never goes on to the next instruction


def flow_graph(body):
    """(blocks as ranges of places in `body`, the successors of each); `body` is a list of (address, instruction)."""
    place = {address: i for i, (address, _) in enumerate(body)}
    targets = {}
    for i, (_, text) in enumerate(body):
        branch = BRANCH.match(text)
        if branch:
            targets[i] = place.get(int(branch.group(2), 16))
    last = {i for i, (_, text) in enumerate(body) if i in targets or ENDS.match(text)}
    starts = sorted({0, *(i + 1 for i in last if i + 1 < len(body)), *(t for t in targets.values() if t is not None)})
    block_of = {start: b for b, start in enumerate(starts)}
    blocks = [range(start, end) for start, end in zip(starts, starts[1:] + [len(body)])]
    successors = []
    for block in blocks:
        i, following = block[-1], []
        if targets.get(i) is not None:
            following.append(block_of[targets[i]])
        if not ENDS.match(body[i][1]) and i + 1 in block_of:
            following.append(block_of[i + 1])
        successors.append(following)
    return blocks, successors


def components(nodes, successors):
    """The strongly connected components of the graph on `nodes` that have a cycle (Kosaraju)."""
    def walk(start, edges, seen):
        """Nodes reached from `start`, each after all that it reaches first."""
        seen.add(start)
        stack, order = [(start, iter(edges[start]))], []
        while stack:
            node, rest = stack[-1]
            step = next((n for n in rest if n in nodes and n not in seen), None)
            if step is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(step)
                stack.append((step, iter(edges[step])))
        return order

    backward = {node: [] for node in nodes}
    for node in nodes:
        for following in successors[node]:
            if following in nodes:
                backward[following].append(node)
    seen, order = set(), []
    for node in sorted(nodes):
        if node not in seen:
            order += walk(node, successors, seen)
    seen = set()
    for node in reversed(order):
        if node not in seen:
            component = set(walk(node, backward, seen))
            if len(component) > 1 or node in successors[node]:
                yield component


def innermost_loops(body, wanted):
    """Yields the instructions, by address, of each loop that `wanted` accepts and that holds no other such loop."""
    blocks, successors = flow_graph(body)
    everything = set(range(len(blocks)))

    def search(nodes):
        found = []
        for component in components(nodes, successors):
            entries = {n for node in everything - component for n in successors[node] if n in component}
            inner = search(component - {min(entries or component)})  # without its head only inner loops go round
            texts = [body[i][1] for block in sorted(component) for i in blocks[block]]
            found += inner or ([texts] if wanted(texts) else [])
        return found

    return search(everything)
