# SPDX-License-Identifier: Apache-2.0
"""The batch decoder reads the same records as the decoder of single lines."""

import msgspec

from records.metric import Metric
from records.run.belonging import Belonging
from records.run.chain import Chain
from records.run.mpi_profile import CallProfile, RankProfile
from records.run.plan import Plan, PlannedCase, Totals
from records.run.record import RecordWriter, read_records
from records.run.record_lines import Value, batches
from records.tests.test_record import record

CASE = PlannedCase(
    id="hpl-00000000",
    check="hpl",
    environment="lam",
    params={"n": 1000},
    ranks=1,
    ranks_per_node=1,
    nodes=1,
    memory_bytes_per_node=0,
    estimate_s=1.0,
    skipped=None,
)
PLAN = Plan(
    campaign="c",
    question="?",
    site="virtual",
    seed=1,
    blocks=2,
    environments=["lam"],
    totals=Totals(cases=1, skipped=0, launches=2, node_hours=0.0, wall_s=2.0),
    cases=[CASE],
)


def whole(value):
    """A record, a metric or a part of them as plain data, with what stayed text decoded."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value) if bytes(value) else None
    if isinstance(value, list | tuple):
        return [whole(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return {name: whole(getattr(value, name)) for name in value.__struct_fields__}
    return value


def test_batches_hold_the_records_of_the_file(tmp_path):
    path = tmp_path / "records.jsonl"
    point = Metric("time", "s", "lower", 2.0, at={"message_bytes": 8}, samples=[2.0, 3.0])
    call = CallProfile("MPI_Send", 1, 2, 16, 0.5, 0.25, {"8": 2})
    written = [
        record(1, metrics=[point, Metric("rate", "flop/s", "higher", 1e9)], flags=["partial"]),
        record(2, status="failed", reason="<&>", profile=[RankProfile(0, 1.0, 0.5, [call])]),
    ]
    with RecordWriter(path) as writer:
        for one in written:
            writer.append(one)
    (batch,) = batches(path, Belonging(PLAN), Chain.of(tmp_path))
    assert (batch.first, batch.cases) == (1, [0, 0])
    assert [whole(line) for line in batch.lines] == [whole(one) for one in read_records(path)]
    assert all(isinstance(metric, Value) for metric in batch.lines[0].metrics)
