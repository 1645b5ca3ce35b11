"""The evidence of a run as an event of OpenLineage (extra `openlineage`): which column came from which, and how.

Names, levels and counts; never a value of the data. Where events go, the client's own configuration says.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset as lineage
from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

PRODUCER = "https://pypi.org/project/sqlanon"


def event_of(document: Mapping[str, Any], namespace: str = "sqlanon") -> RunEvent:
    """The event that a run ended with; `namespace` is that of its datasets and its job."""
    published = document.get("outcome", "published") == "published"
    run = uuid.uuid5(uuid.NAMESPACE_URL, f"sqlanon:{document['run']}:{document['started']}")
    read = InputDataset(namespace, document["source"])
    written = []
    if published:
        fields = dict(_fields(document, namespace))
        facets: dict[str, Any] = {"columnLineage": lineage.ColumnLineageDatasetFacet(fields, producer=PRODUCER)}
        rows = statistics.OutputStatisticsOutputDatasetFacet(rowCount=document["rows"]["released"], producer=PRODUCER)
        written = [OutputDataset(namespace, document["target"], {"outputStatistics": rows}, facets=facets)]
    return RunEvent(
        eventTime=document["finished"],
        producer=PRODUCER,
        run=Run(str(run)),
        job=Job(namespace, f"release of {document['target']}"),
        eventType=RunState.COMPLETE if published else RunState.FAIL,
        inputs=[read],
        outputs=written,
    )


def emit(document: Mapping[str, Any], namespace: str = "sqlanon", client: OpenLineageClient | None = None) -> None:
    """Send the event where the client is told to: by OPENLINEAGE_URL, OPENLINEAGE_CONFIG or openlineage.yml."""
    (OpenLineageClient() if client is None else client).emit(event_of(document, namespace))


def _fields(document: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, lineage.Fields]]:
    def from_source(name: str, transformation: lineage.Transformation) -> lineage.Fields:
        base = document.get("derived", {}).get(name, name)
        return lineage.Fields([lineage.InputField(namespace, document["source"], base, [transformation])])

    rules = document.get("rules", {})
    for name, of in document["levels"].items():
        said = f"level {of['level']} of {of['height']}"
        masked = of["level"] > 0 or name in rules
        kind = lineage.Transformation("DIRECT", "TRANSFORMATION" if masked else "IDENTITY", said, masked)
        yield name, from_source(name, kind)
    for name in (document["audit"]["after"] or {}).get("l", {}):
        if name not in document["levels"]:
            ruled = name in rules
            said = f"sensitive column, {rules[name]}" if ruled else "sensitive column"
            kind = lineage.Transformation("DIRECT", "TRANSFORMATION" if ruled else "IDENTITY", said, ruled)
            yield name, from_source(name, kind)
