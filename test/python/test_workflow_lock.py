import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from wire import connect, locks, say


@workflow.defn
class Writer:
    """An agent that is a workflow: it takes a lock by signal, and is answered by signal."""

    def __init__(self) -> None:
        self.replies: list[dict] = []
        self.may_release = False

    @workflow.signal(name="synod.reply")
    def reply(self, envelope: dict) -> None:
        self.replies.append(envelope)

    @workflow.signal
    def go(self) -> None:
        self.may_release = True

    async def say(self, room: str, type: str, id: str, **fields) -> None:
        info = workflow.info()
        envelope = {
            "type": type,
            "id": id,
            "from": info.workflow_id,
            "ts": workflow.now().isoformat(),
            "reply_to": info.workflow_id,
            **fields,
        }
        await workflow.get_external_workflow_handle(f"synod:{room}:locks").signal("envelope", envelope)

    async def received(self, type: str) -> dict:
        found = lambda: next((e for e in self.replies if e["type"] == type), None)
        await workflow.wait_condition(lambda: found() is not None, timeout=timedelta(seconds=60))
        return found()

    @workflow.run
    async def run(self, room: str) -> list[dict]:
        await self.say(room, "lock.request", "r-1", resources=["report"], lock_type="exclusive", wait_seconds=60)
        granted = await self.received("lock.granted")
        await self.say(room, "lock.renew", "r-2", lock_id=granted["lock_id"], lease_seconds=30)
        await self.received("lock.renewed")
        await workflow.wait_condition(lambda: self.may_release)
        await self.say(room, "lock.release", "r-3", lock_id=granted["lock_id"])
        await self.received("lock.released")
        return self.replies


def test_workflows_take_a_lock_by_signal():
    async def run():
        client = await connect()
        wire = locks(client, "py-locks")
        # A workflow cannot start another by a signal: the manager is there already.
        probe = say("lock.request", "probe", resources=["other"], lock_type="read")
        assert (await wire.ask(probe))[0]["type"] == "lock.granted"
        # The sandbox imports this file anew, which what pytest makes of it does not always survive.
        async with Worker(
            client, task_queue="py-agents", workflows=[Writer], workflow_runner=UnsandboxedWorkflowRunner()
        ):
            first, second = [
                await client.start_workflow(Writer.run, "py-locks", id=f"py-writer-{n}", task_queue="py-agents")
                for n in (1, 2)
            ]
            both = {"py-writer-1", "py-writer-2"}
            granted = await wire.until(list(both), lambda e: e["type"] == "lock.granted")
            queued = await wire.until(list(both), lambda e: e["type"] == "lock.queued")
            assert {granted["to"], queued["to"]} == both and queued["blocked_by"] == [granted["to"]]
            for writer in (first, second):
                await writer.signal("go")
            replies = [await writer.result() for writer in (first, second)]
        if granted["to"] == "py-writer-2":
            replies.reverse()
        # What is for each alone, one envelope each, in order.
        assert [e["type"] for e in replies[0]] == ["lock.granted", "lock.renewed", "lock.released"]
        assert [e["type"] for e in replies[1]] == ["lock.queued", "lock.granted", "lock.renewed", "lock.released"]
        assert [e["in_reply_to"] for e in replies[0]] == ["r-1", "r-2", "r-3"]
        tokens = [next(e for e in sent if e["type"] == "lock.granted")["tokens"]["report"] for sent in replies]
        assert tokens[0] < tokens[1]

    asyncio.run(run())
