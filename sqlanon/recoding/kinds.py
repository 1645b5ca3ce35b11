"""The kinds of recodings, value objects: what a search decided, what a lock file records, what publish carries out.

Full-domain (Samarati 2001, section 3): every value of a column at one level. Cuts (Li and Li 2007, section 3): each
column has its own partition of its values into groups, carried out as level 1 of a hierarchy of its own. Assigned:
every class has labels of its own, made again by its recoder; as a script, by a lookup of regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sqlanon.hierarchies.base import Rule, grouped

if TYPE_CHECKING:
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.source.binding import Binding


@dataclass(frozen=True)
class Assigned:
    """An assignment that its recoder makes again from the same combinations."""

    kind: ClassVar[str] = "assigned"
    holds_values: ClassVar[bool] = False
    """Whether values of the source are in it."""
    script_holds_values: ClassVar[bool] = True
    """Whether values of the source are in a script that carries it out."""
    algorithm: str
    """The recoder, by the name that it has in the spec."""
    classes: int
    fingerprint: str
    """Of the combinations that were assigned."""
    checksum: tuple[int, ...]
    """Of the assignment and of what the labels cover."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of the lock file wants to know of it: plain names and numbers, no values of the table."""

    def levels(self) -> dict[str, int]:
        """No column has one level for all its values."""
        return {}

    @property
    def recoder(self) -> str | None:
        """The algorithm that makes the classes again when the recoding is carried out."""
        return self.algorithm

    def in_levels(self, binding: Binding) -> tuple[Binding, FullDomain] | None:
        """No levels of any hierarchies say it."""
        return None

    def in_groups(self) -> Cuts | None:
        """No column has groups of its own."""
        return None

    def group_counts(self) -> dict[str, int]:
        """No column has groups of its own."""
        return {}

    def labels(self) -> dict[str, tuple[str, ...]]:
        """No column has groups of its own."""
        return {}

    def same_as(self, other: Assigned | Cuts | FullDomain) -> bool:
        """Whether both describe one assignment."""
        return isinstance(other, Assigned) and self._identity == other._identity

    @property
    def _identity(self) -> tuple[str, str, tuple[int, ...]]:
        return self.algorithm, self.fingerprint, self.checksum

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "algorithm": self.algorithm,
            "classes": self.classes,
            "fingerprint": self.fingerprint,
            "checksum": list(self.checksum),
            "details": dict(self.details),
        }

    def outline(self) -> dict[str, Any]:
        """Plain data without values, which are all that it has."""
        return self.to_dict()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Assigned:
        """The recoding that `to_dict` wrote; KeyError, TypeError or ValueError when it is none."""
        return cls(
            str(content["algorithm"]),
            int(content["classes"]),
            str(content["fingerprint"]),
            tuple(int(number) for number in content["checksum"]),
            dict(content["details"]),
        )


@dataclass(frozen=True)
class Group:
    """Values of a column that are released under one label."""

    label: str
    values: tuple[str, ...]
    """The texts of the values, which are the labels of level 0; or the labels of the least level that is released."""


@dataclass(frozen=True)
class Cuts:
    """The groups of each quasi-identifier, in the order of the spec; together they hold every value once.

    NULL is in no group: it stays NULL unless its column has a single group that is more than its values as they are.
    """

    kind: ClassVar[str] = "cuts"
    holds_values: ClassVar[bool] = True
    script_holds_values: ClassVar[bool] = True
    columns: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...] = field(repr=False)
    """Not in what a notebook or a traceback shows: values are in them, however rare."""
    least: tuple[int, ...] = ()
    """The level of each column's hierarchy whose labels are grouped; none given: values are, level 0."""
    unchanged: tuple[str, ...] = ()
    """Columns of at most one value, which is released at that level as it is, and NULL as NULL."""

    def levels(self) -> dict[str, int]:
        """No column has one level for all its values."""
        return {}

    @property
    def recoder(self) -> str | None:
        """Nothing has to be made again."""
        return None

    def in_levels(self, binding: Binding) -> tuple[Binding, FullDomain] | None:
        """The binding with the groups as hierarchies, and the levels at which they are released."""
        return by_own_hierarchies(self, binding)

    def in_groups(self) -> Cuts | None:
        """The groups of each column."""
        return self

    def group_counts(self) -> dict[str, int]:
        """How many groups each column has."""
        return {name: len(groups) for name, groups in zip(self.columns, self.groups, strict=True)}

    def same_as(self, other: Assigned | Cuts | FullDomain) -> bool:
        """Whether both have the same groups."""
        return self == other

    def level_of(self, name: str) -> int:
        """The level whose labels the groups of a column hold."""
        return self.least[self.columns.index(name)] if self.least else 0

    def rules(self, rules: Mapping[str, Rule]) -> dict[str, Rule]:
        """For each column the hierarchy whose level 1 is its groups; given are the hierarchies of the spec, which
        unchanged columns keep.
        """
        return {
            name: rules[name]
            if name in self.unchanged
            else grouped(
                rules[name],
                self.level_of(name),
                tuple((value, group.label) for group in groups for value in group.values),
            )
            for name, groups in zip(self.columns, self.groups, strict=True)
        }

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the groups of each column."""
        return {
            name: _distinct(group.label for group in groups)
            for name, groups in zip(self.columns, self.groups, strict=True)
        }

    def own_levels(self) -> dict[str, int]:
        """The level of each column in the hierarchies of `rules`: 0 where every value keeps its own label."""
        return {
            name: self.level_of(name)
            if name in self.unchanged
            else int(
                any(group.values != (group.label,) for group in groups) or len(groups) == 1 or self.level_of(name) > 0
            )
            for name, groups in zip(self.columns, self.groups, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "groups": {
                name: [{"label": group.label, "values": list(group.values)} for group in groups]
                for name, groups in zip(self.columns, self.groups, strict=True)
            },
            **({"least": list(self.least)} if any(self.least) else {}),
            **({"unchanged": list(self.unchanged)} if self.unchanged else {}),
        }

    def outline(self) -> dict[str, Any]:
        """Plain data without values, of which few rows may stand behind one: how many groups each column has."""
        return {"kind": self.kind, "columns": list(self.columns), "groups": self.group_counts()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cuts:
        """The recoding that `to_dict` wrote; KeyError, TypeError or ValueError when it is none."""
        columns = tuple(_text(name) for name in content["columns"])
        groups = tuple(
            tuple(Group(_text(item["label"]), tuple(map(_text, item["values"]))) for item in content["groups"][name])
            for name in columns
        )
        least = tuple(int(level) for level in content.get("least", ()))
        if least and (len(least) != len(columns) or min(least) < 0):
            raise ValueError("a level for each column is expected")
        unchanged = tuple(_text(name) for name in content.get("unchanged", ()))
        for name, found in zip(columns, groups, strict=True):
            if len(found) > 1 if name in unchanged else not found:
                raise ValueError("a column is unchanged when it has one value, and else has groups")
        return cls(columns, groups, least, unchanged)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


@dataclass(frozen=True)
class FullDomain:
    """The level of each quasi-identifier, in the order of the spec."""

    kind: ClassVar[str] = "full_domain"
    holds_values: ClassVar[bool] = False
    script_holds_values: ClassVar[bool] = False
    columns: tuple[str, ...]
    node: Node

    @property
    def recoder(self) -> str | None:
        """Nothing has to be made again."""
        return None

    def in_levels(self, binding: Binding) -> tuple[Binding, FullDomain] | None:
        """The hierarchies of the spec, and the levels themselves."""
        return binding, self

    def in_groups(self) -> Cuts | None:
        """No column has groups of its own."""
        return None

    def group_counts(self) -> dict[str, int]:
        """No column has groups of its own."""
        return {}

    def labels(self) -> dict[str, tuple[str, ...]]:
        """No column has groups of its own."""
        return {}

    def same_as(self, other: Assigned | Cuts | FullDomain) -> bool:
        """Whether both have the same levels."""
        return self == other

    def levels(self) -> dict[str, int]:
        return dict(zip(self.columns, self.node, strict=True))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "levels": self.levels()}

    def outline(self) -> dict[str, Any]:
        """Plain data without values, which are all that it has."""
        return self.to_dict()

    @classmethod
    def from_levels(cls, columns: tuple[str, ...], levels: Mapping[str, int]) -> FullDomain:
        """The recoding that these levels describe; every column must have one."""
        return cls(columns, tuple(levels[name] for name in columns))


def by_own_hierarchies(cuts: Cuts, binding: Binding) -> tuple[Binding, FullDomain]:
    """The binding with the groups as hierarchies, and the levels at which they are released."""
    rules = cuts.rules({item.name: item.rule for item in binding.quasi_identifiers})
    columns = tuple(replace(item, rule=rules[item.name]) for item in binding.quasi_identifiers)
    return replace(binding, quasi_identifiers=columns), FullDomain.from_levels(binding.names, cuts.own_levels())


Text = str | None


@dataclass(frozen=True)
class NodeLookup:
    """What regions publish of a sensitive column that is generalized region by region."""

    column: str
    paths: tuple[tuple[Text, ...], ...]
    """For each value of the taxonomy its labels, level 0 first, the root last; NULL is a value where it occurs."""
    published: tuple[tuple[Text, ...], ...]
    """Region, level and label of every node that stands in a release of the region."""


@dataclass(frozen=True)
class RegionLookup:
    """The regions of a strict partition: every value of each column with its place in their order, and the regions as
    ranges of places. No combination of values that is not published is in it."""

    values: tuple[tuple[tuple[Text, int], ...], ...]
    """For each quasi-identifier the texts of its values, NULL among them; values of one label may share a place."""
    regions: tuple[tuple[Text, ...], ...]
    """For each region and each quasi-identifier three texts: first place, last place, label."""
    nodes: NodeLookup | None = None
    """Regions are numbered in their order, from 0."""

    def labels(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Every label that the regions publish, by column: the quasi-identifiers of these names, and the nodes."""
        found = {
            name: _distinct(region[3 * position + 2] for region in self.regions) for position, name in enumerate(names)
        }
        if self.nodes is not None:
            found[self.nodes.column] = _distinct(label for _, _, label in self.nodes.published)
        return found


def _distinct(labels: Iterable[Text]) -> tuple[str, ...]:
    return tuple(sorted({label for label in labels if label is not None}))
