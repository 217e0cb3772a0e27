import asyncio
import itertools

import pytest
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from wire import connect, failing, say, task

names = itertools.count(1)


async def open_task(**config):
    task_id = f"e-{next(names)}"
    wire = task(await connect(), "py-errors", task_id, config)
    opening = say("task.announce", "producer", task_id=task_id, title="t", lease_seconds=60)
    first = await wire.ask(opening)
    return wire, task_id, opening, first


@pytest.mark.parametrize(
    ("argument", "code"),
    [
        ("text", "invalid_envelope"),
        (None, "invalid_envelope"),
        ({"type": "task.claim"}, "invalid_envelope"),
        ([{}] * 513, "over_limit"),
        (["x" * 1_100_000], "over_limit"),
    ],
    ids=["text", "null", "one envelope", "513 envelopes", "1.1 MB"],
)
def test_a_failed_update_has_the_code_as_its_type(argument, code):
    async def run():
        wire, *_ = await open_task()
        error = await failing(wire.request(argument))
        assert error.type == code and "request" in error.message
        error = await failing(wire.receive("worker"))
        assert error.type == "invalid_envelope" and "agents" in error.message

    asyncio.run(run())


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ({"id": None}, "invalid_envelope", "id"),
        ({"from": "two words"}, "invalid_envelope", "from"),
        ({"from": "synod"}, "unauthorized", "from"),
        ({"task_id": "other"}, "invalid_envelope", "task_id"),
        ({"task_id": "n\u0303"}, "invalid_envelope", "task_id"),
        ({"lease_seconds": True}, "invalid_envelope", "lease_seconds"),
        ({"lease_seconds": 61}, "invalid_envelope", "lease_seconds"),
        ({"expires_at": "2020-01-01T00:00:00+02:00"}, "expired", "expires_at"),
        ({"note": "x" * 17 * 1024}, "over_limit", "envelope"),
        ({"type": "task.renew", "attempt": 1}, "not_holder", "nobody"),
    ],
)
def test_a_refused_envelope_names_what_is_wrong(change, code, named):
    async def run():
        wire, task_id, *_ = await open_task()
        (refused,) = await wire.ask(say("task.claim", "worker", task_id=task_id) | change)
        assert (refused["type"], refused["code"]) == ("error", code)
        assert named in refused["reason"]
        assert (await wire.view())["status"] == "open"

    asyncio.run(run())


@pytest.mark.parametrize("field", ["type", "id", "from", "ts", "task_id"])
def test_a_missing_field_is_named(field):
    async def run():
        wire, task_id, *_ = await open_task()
        claim = say("task.claim", "worker", task_id=task_id)
        del claim[field]
        (refused,) = await wire.ask(claim)
        assert refused["code"] == "invalid_envelope" and refused["reason"].startswith(field)

    asyncio.run(run())


def test_another_opening_is_a_conflict():
    async def run():
        wire, _, opening, first = await open_task()
        assert await wire.ask(opening) == first
        for other in (opening | {"title": "other"}, opening | {"from": "other"}, opening | {"id": "other"}):
            assert [e["code"] for e in await wire.ask(other)] == ["idempotency_conflict"]

    asyncio.run(run())


def test_after_the_end_the_result_says_what_happened():
    async def run():
        wire, task_id, opening, _ = await open_task(linger_seconds=0.2)
        await wire.ask(say("task.claim", "worker", task_id=task_id))
        (completed,) = await wire.ask(say("task.complete", "worker", task_id=task_id, attempt=1, result=7))
        result = await wire.handle.result()
        assert result["outcome"] == completed
        opened = result["opened"]
        assert (opened["from"], opened["idempotency_key"]) == (opening["from"], opening["id"])
        # SHA-256 of the canonical JSON of the body, with its defaults: the same for the same opening only.
        assert len(opened["body_hash"]) == 64

        with pytest.raises(WorkflowAlreadyStartedError):
            await wire.request([opening])
        with pytest.raises(WorkflowAlreadyStartedError):
            await wire.signal(opening)
        with pytest.raises(RPCError) as gone:
            await wire.receive(["worker"])
        assert gone.value.status == RPCStatusCode.NOT_FOUND

    asyncio.run(run())
