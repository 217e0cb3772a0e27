"""An agent in Python that knows nothing but the wire contract."""

import itertools
import os
from datetime import datetime, timezone

from temporalio.client import Client, WithStartWorkflowOperation, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

_numbers = itertools.count(1)


async def connect() -> Client:
    return await Client.connect(os.environ["TEMPORAL_ADDRESS"])


def say(type: str, sender: str, **fields) -> dict:
    return {
        "type": type,
        "id": f"py-{next(_numbers)}",
        "from": sender,
        "ts": datetime.now(timezone.utc).isoformat(),
        **fields,
    }


class Wire:
    """One workflow, by its id and the four handlers."""

    def __init__(self, client: Client, type: str, id: str, room: str, config: dict | None = None):
        self.client, self.type, self.id = client, type, id
        self.start = {"room": room, **({"config": config} if config else {})}
        self.handle = client.get_workflow_handle(id)
        self._options = {
            "id": id,
            "task_queue": "synod",
            "id_conflict_policy": WorkflowIDConflictPolicy.USE_EXISTING,
            "id_reuse_policy": WorkflowIDReusePolicy.ALLOW_DUPLICATE
            if type in ("room", "coordinatorElection", "lockManager")
            else WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        }

    async def request(self, argument) -> list:
        return await self.client.execute_update_with_start_workflow(
            "request",
            argument,
            start_workflow_operation=WithStartWorkflowOperation(self.type, self.start, **self._options),
            result_type=list,
        )

    async def ask(self, envelope) -> list[dict]:
        return (await self.request([envelope]))[0]

    async def signal(self, envelope) -> None:
        await self.client.start_workflow(
            self.type, self.start, start_signal="envelope", start_signal_args=[envelope], **self._options
        )

    async def receive(self, agents: list[str], after: int = 0, wait_seconds: float = 0, **more) -> dict:
        argument = {"agents": agents, "after": after, "wait_seconds": wait_seconds, "limit": 200, **more}
        return await self.handle.execute_update("receive", argument, result_type=dict)

    async def until(self, agents: list[str], wanted) -> dict:
        """Reads on until an envelope is wanted."""
        after = 0
        while True:
            page = await self.receive(agents, after, 20)
            for event in page["events"]:
                if wanted(event["envelope"]):
                    return event["envelope"]
            after = page["next"]

    async def view(self) -> dict:
        return await self.handle.query("view", result_type=dict)


def task(client: Client, room: str, task_id: str, config: dict | None = None) -> Wire:
    return Wire(client, "taskLease", f"synod:{room}:task:{task_id}", room, config)


def coordinator(client: Client, room: str, role: str) -> Wire:
    return Wire(client, "coordinatorElection", f"synod:{room}:coordinator:{role}", room)


def locks(client: Client, room: str) -> Wire:
    return Wire(client, "lockManager", f"synod:{room}:locks", room)


def proposal(client: Client, room: str, proposal_id: str) -> Wire:
    return Wire(client, "quorumProposal", f"synod:{room}:proposal:{proposal_id}", room)


def barrier(client: Client, room: str, phase: str) -> Wire:
    return Wire(client, "barrier", f"synod:{room}:barrier:{phase}", room)


def room(client: Client, name: str) -> Wire:
    return Wire(client, "room", f"synod:{name}:room", name)


async def failing(work) -> ApplicationError:
    """The ApplicationError of an update that must fail."""
    try:
        answer = await work
    except WorkflowUpdateFailedError as error:
        assert isinstance(error.cause, ApplicationError)
        return error.cause
    raise AssertionError(f"it did not fail: {answer}")
