import asyncio

from wire import connect, locks, say


def request(sender: str, resources: list[str], lock_type: str = "exclusive", **fields) -> dict:
    return say("lock.request", sender, resources=resources, lock_type=lock_type, **fields)


def test_requests_waits_renews_and_releases():
    async def run():
        wire = locks(await connect(), "py-locks")
        (first,) = await wire.ask(request("ann", ["b", "a"], lease_seconds=60))
        assert (first["type"], first["to"], first["lease_seconds"]) == ("lock.granted", "ann", 60)
        assert sorted(first["tokens"]) == ["a", "b"]

        waiting = request("bob", ["a"], wait_seconds=60, lease_seconds=30)
        (queued,) = await wire.ask(waiting)
        assert (queued["type"], queued["position"], queued["blocked_by"]) == ("lock.queued", 1, ["ann"])
        (busy,) = await wire.ask(request("cleo", ["a"], wait_seconds=0))
        assert (busy["type"], busy["reason"]) == ("lock.denied", "busy")

        (renewed,) = await wire.ask(say("lock.renew", "ann", lock_id=first["lock_id"], lease_seconds=20))
        assert (renewed["type"], renewed["lease_seconds"]) == ("lock.renewed", 20)
        (refused,) = await wire.ask(say("lock.release", "bob", lock_id=first["lock_id"]))
        assert refused["code"] == "not_holder"
        (released,) = await wire.ask(say("lock.release", "ann", lock_id=first["lock_id"]))
        assert (released["type"], released["lock_id"]) == ("lock.released", first["lock_id"])

        granted = await wire.until(["bob"], lambda e: e["type"] == "lock.granted" and e.get("to") == "bob")
        assert (granted["lock_id"], granted["in_reply_to"]) == (queued["lock_id"], waiting["id"])
        assert granted["tokens"]["a"] > max(first["tokens"].values())
        again = await wire.ask(waiting)
        assert again[0] == queued and again[1]["tokens"] == granted["tokens"]

        view = await wire.view()
        (shown,) = view["resources"]
        assert (shown["resource"], [h["holder"] for h in shown["holders"]]) == ("a", ["bob"])
        await wire.ask(say("lock.release", "bob", lock_id=granted["lock_id"]))
        assert (await wire.view())["held"] == 0

    asyncio.run(run())


def test_a_request_is_cancelled_before_it_comes_and_while_it_waits():
    async def run():
        wire = locks(await connect(), "py-cancels")
        (held,) = await wire.ask(request("ann", ["a"]))
        late = request("bob", ["a"], wait_seconds=60)
        (cancelled,) = await wire.ask(say("lock.cancel", "bob", request=late["id"]))
        assert (cancelled["type"], cancelled["request"]) == ("lock.cancelled", late["id"])
        assert [e["type"] for e in await wire.ask(late)] == ["lock.cancelled"]
        (queued,) = await wire.ask(request("bob", ["a"], wait_seconds=60))
        (cancelled,) = await wire.ask(say("lock.cancel", "bob", lock_id=queued["lock_id"]))
        assert (cancelled["type"], cancelled["lock_id"]) == ("lock.cancelled", queued["lock_id"])
        await wire.ask(say("lock.release", "ann", lock_id=held["lock_id"]))
        assert (await wire.view())["held"] == 0

    asyncio.run(run())
