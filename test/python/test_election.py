import asyncio

from wire import connect, coordinator, say


def test_an_election_is_won_and_fenced_by_updates():
    async def run():
        wire = coordinator(await connect(), "py-election", "updates")

        async def ask(verb: str, sender: str, **fields) -> dict:
            return (await wire.ask(say(f"coordinator.{verb}", sender, role="updates", **fields)))[0]

        joined = await ask("join", "bob", heartbeat_seconds=60)
        assert (joined["type"], joined["epoch"], joined["coordinator"]) == ("coordinator.joined", 1, "bob")
        joined = await ask("join", "ann", heartbeat_seconds=5)
        assert (joined["epoch"], joined["coordinator"], joined["heartbeat_seconds"]) == (1, "bob", 60)
        alive = await ask("heartbeat", "bob", epoch=1)
        assert alive["type"] == "coordinator.alive" and "seq" not in alive
        accepted = await ask("directive", "bob", epoch=1, directive={"sort": ["α", 1, None]})
        assert accepted["type"] == "coordinator.accepted"

        for sender, epoch, code in (("ann", 1, "not_holder"), ("bob", 2, "invalid_envelope")):
            assert (await ask("directive", sender, epoch=epoch, directive=1))["code"] == code
        assert (await ask("resign", "bob", epoch=1))["type"] == "coordinator.resigned"
        assert (await ask("directive", "bob", epoch=1, directive="late"))["code"] == "stale_epoch"
        assert (await ask("directive", "ann", epoch=2, directive="mine"))["type"] == "coordinator.accepted"

        page = await wire.receive([])
        logged_events = [(e["type"], e["epoch"]) for e in (event["envelope"] for event in page["events"]) if "epoch" in e]
        assert logged_events == [
            ("coordinator.elected", 1),
            ("coordinator.directive", 1),
            ("coordinator.resign", 1),
            ("coordinator.resigned", 1),
            ("coordinator.elected", 2),
            ("coordinator.directive", 2),
        ]
        view = await wire.view()
        assert (view["status"], view["epoch"], view["coordinator"]) == ("held", 2, "ann")

    asyncio.run(run())


def test_the_same_by_signals_alone():
    async def run():
        wire = coordinator(await connect(), "py-election", "signals")

        async def send(verb: str, sender: str, **fields) -> dict:
            message = say(f"coordinator.{verb}", sender, role="signals", **fields)
            await wire.signal(message)
            return message

        async def answer(message: dict) -> dict:
            return await wire.until([message["from"]], lambda e: e.get("in_reply_to") == message["id"])

        async def logged(message: dict) -> dict:
            return await wire.until([], lambda e: e["id"] == message["id"] and e["from"] == message["from"])

        joined = await answer(await send("join", "bob", heartbeat_seconds=60))
        assert (joined["type"], joined["epoch"], joined["coordinator"]) == ("coordinator.joined", 1, "bob")
        await answer(await send("join", "ann"))
        first = await logged(await send("directive", "bob", epoch=1, directive="first"))
        assert (first["type"], first["from"]) == ("coordinator.directive", "bob")
        await send("resign", "bob", epoch=1)
        elected = await wire.until(["ann"], lambda e: e["type"] == "coordinator.elected" and e["epoch"] == 2)
        assert elected["coordinator"] == "ann" and "to" not in elected
        refused = await answer(await send("directive", "bob", epoch=1, directive="late"))
        assert (refused["type"], refused["code"]) == ("error", "stale_epoch")
        assert (await logged(await send("directive", "ann", epoch=2, directive="second")))["epoch"] == 2

    asyncio.run(run())
