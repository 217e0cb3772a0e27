import asyncio

from wire import connect, room, say, task


def test_announces_claims_renews_completes_and_reads_the_room():
    async def run():
        client = await connect()
        wire = task(client, "py-updates", "t-1")
        opening = say("task.announce", "producer", task_id="t-1", title="Grüße", input={"n": [1, 2.5, None, "π"]}, lease_seconds=60)
        (accepted,) = await wire.ask(opening)
        assert accepted["type"] == "task.accepted" and accepted["in_reply_to"] == opening["id"] and accepted["attempt"] == 1

        ack, closed = await wire.ask(say("task.claim", "worker", task_id="t-1"))
        assert (ack["type"], ack["to"], ack["attempt"], ack["lease_seconds"]) == ("task.ack", "worker", 1, 60)
        assert (closed["type"], closed["reason"], closed["holder"]) == ("task.closed", "claimed", "worker")
        (late,) = await wire.ask(say("task.claim", "late", task_id="t-1"))
        assert (late["type"], late["holder"]) == ("task.closed", "worker")

        (renewed,) = await wire.ask(say("task.renew", "worker", task_id="t-1", attempt=1, lease_seconds=30))
        assert (renewed["type"], renewed["lease_seconds"]) == ("task.renewed", 30)
        view = await wire.view()
        assert (view["status"], view["holder"], view["input"]) == ("held", "worker", opening["input"])

        # Two in one request are answered in order; the second comes after the end.
        completed, refused = await wire.request(
            [
                say("task.complete", "worker", task_id="t-1", attempt=1, result={"ok": True}),
                say("task.renew", "worker", task_id="t-1", attempt=1),
            ]
        )
        assert [(e["type"], e["result"]) for e in completed] == [("task.completed", {"ok": True})]
        assert [(e["type"], e["code"]) for e in refused] == [("error", "closed")]

        published = await read_room(client, "py-updates", wire.id)
        assert [e["type"] for e in published] == [
            "task.announce", "task.claim", "task.ack", "task.closed", "task.complete", "task.completed",
        ]
        assert [e["source_seq"] for e in published] == [1, 2, 3, 4, 5, 6]
        assert published[0]["title"] == "Grüße" and published[0]["input"] == opening["input"]

    asyncio.run(run())


async def read_room(client, name: str, source: str) -> list[dict]:
    """What the room has of a source, up to the source's end."""
    wire = room(client, name)
    # The mirror starts the room: to read it before, introduce yourself.
    await wire.ask(say("room.join", "reader", kind="agent", purpose="reads along"))
    published, after = [], 0
    while not published or published[-1]["type"] != "task.completed":
        page = await wire.receive(["*"], after, 20, reader="py")
        published += [event["envelope"] for event in page["events"] if event["envelope"].get("source") == source]
        after = page["next"]
    return published


def test_a_repeat_gets_the_first_reply_again():
    async def run():
        wire = task(await connect(), "py-updates", "t-2")
        opening = say("task.announce", "producer", task_id="t-2", title="twice")
        first = await wire.ask(opening)
        claim = say("task.claim", "worker", task_id="t-2", idempotency_key="k")
        granted = await wire.ask(claim)
        assert await wire.ask(opening | {"ts": "later"}) != []
        assert (await wire.ask(opening))[0] == first[0]
        assert await wire.ask(claim) == granted
        assert (await wire.ask(claim | {"id": "other"}))[0]["attempt"] == granted[0]["attempt"]
        assert [e["code"] for e in await wire.ask(claim | {"lease_seconds": 5})] == ["idempotency_conflict"]

    asyncio.run(run())
