import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from wire import connect, say, task


def test_the_same_by_signals_alone():
    async def run():
        wire = task(await connect(), "py-signals", "s-1")
        opening = say("task.announce", "producer", task_id="s-1", title="signalled")
        await wire.signal(opening)
        # A signal has no answer: that it was accepted shows in the log, where the message itself stands.
        announced = await wire.until(["producer"], lambda e: e["id"] == opening["id"] and e["from"] == "producer")
        assert (announced["type"], announced["attempt"], announced["seq"]) == ("task.announce", 1, 1)

        claim = say("task.claim", "worker", task_id="s-1")
        await wire.signal(claim)
        ack = await wire.until(["worker"], lambda e: e.get("in_reply_to") == claim["id"])
        assert (ack["type"], ack["attempt"]) == ("task.ack", 1)

        # A renewal is not logged: it shows in the view. The completion after it is, so both have been handled then.
        await wire.signal(say("task.renew", "worker", task_id="s-1", attempt=1, lease_seconds=77))
        await wire.signal(say("task.complete", "thief", task_id="s-1", attempt=1))
        refused = await wire.until(["thief"], lambda e: e["type"] == "error")
        assert (refused["code"], refused["to"]) == ("not_holder", "thief")
        assert (await wire.view())["lease_seconds"] == 77
        await wire.signal(say("task.complete", "worker", task_id="s-1", attempt=1, result=[1]))
        completed = await wire.until([], lambda e: e["type"] == "task.completed")
        assert (completed["holder"], completed["result"]) == ("worker", [1])

    asyncio.run(run())


@workflow.defn
class Producer:
    """An agent that is a workflow: it can signal, but it cannot call updates."""

    def __init__(self) -> None:
        self.replies: list[dict] = []

    @workflow.signal(name="synod.reply")
    def reply(self, envelope: dict) -> None:
        self.replies.append(envelope)

    @workflow.run
    async def run(self, room: str, task_id: str) -> list[dict]:
        opened = await workflow.start_child_workflow(
            "taskLease",
            {"room": room},
            id=f"synod:{room}:task:{task_id}",
            task_queue="synod",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )
        announcement = {
            "type": "task.announce",
            "id": "announcement",
            "from": "py-workflow",
            "ts": workflow.now().isoformat(),
            "task_id": task_id,
            "title": "from a workflow",
            "reply_to": workflow.info().workflow_id,
        }
        await opened.signal("envelope", announcement)
        ended = lambda: any(e["type"] == "task.completed" for e in self.replies)
        await workflow.wait_condition(ended, timeout=timedelta(seconds=60))
        return self.replies


async def announced(wire) -> None:
    """The workflow announces when it likes; a claim before that would spoil the opening."""
    while True:
        try:
            if (await wire.view())["status"] == "open":
                return
        except RPCError as error:
            assert error.status == RPCStatusCode.NOT_FOUND
        await asyncio.sleep(0.05)


def test_a_workflow_is_answered_by_signals():
    async def run():
        client = await connect()
        # The sandbox imports this file anew, which what pytest makes of it does not always survive.
        async with Worker(
            client, task_queue="py-agents", workflows=[Producer], workflow_runner=UnsandboxedWorkflowRunner()
        ):
            producer = await client.start_workflow(
                Producer.run, args=["py-signals", "s-2"], id="py-producer", task_queue="py-agents"
            )
            wire = task(client, "py-signals", "s-2")
            await announced(wire)
            await wire.ask(say("task.claim", "worker", task_id="s-2"))
            await wire.ask(say("task.complete", "worker", task_id="s-2", attempt=1, result="done"))
            replies = await producer.result()
        # What is for it or for the room, one envelope each, in order; the worker's ack is not.
        assert [e["type"] for e in replies] == ["task.accepted", "task.closed", "task.completed"]
        assert replies[0]["in_reply_to"] == "announcement"
        assert (replies[-1]["holder"], replies[-1]["result"]) == ("worker", "done")

    asyncio.run(run())
