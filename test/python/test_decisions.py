import asyncio

from wire import barrier, connect, proposal, say


def test_a_vote_by_updates():
    async def run():
        wire = proposal(await connect(), "py-decides", "p-1")
        voters = ["v1", "v2", "v3"]
        opening = say(
            "decision.propose", "ann", proposal_id="p-1", question="Publish?", voters=voters, quorum=2, deadline_seconds=60
        )
        (accepted,) = await wire.ask(opening)
        assert (accepted["type"], accepted["in_reply_to"]) == ("decision.accepted", opening["id"])
        (voted,) = await wire.ask(say("decision.vote", "v1", proposal_id="p-1", choice="yes"))
        assert (voted["type"], voted["to"], voted["tally"]) == ("decision.voted", "v1", {"yes": 1, "no": 0})
        for sender, choice, code in (("v1", "no", "already_voted"), ("zed", "yes", "not_eligible"), ("v2", "maybe", "invalid_envelope")):
            (refused,) = await wire.ask(say("decision.vote", sender, proposal_id="p-1", choice=choice))
            assert refused["code"] == code
        _, commit = await wire.ask(say("decision.vote", "v3", proposal_id="p-1", choice="yes"))
        assert (commit["type"], commit["choice"], commit["tally"]) == ("decision.commit", "yes", {"yes": 2, "no": 0})
        assert commit["votes"] == {"v1": "yes", "v3": "yes"}
        (late,) = await wire.ask(say("decision.vote", "v2", proposal_id="p-1", choice="no"))
        assert late["code"] == "already_decided"

    asyncio.run(run())


def test_a_check_in_by_updates():
    async def run():
        wire = barrier(await connect(), "py-meets", "b-1")
        opening = say("barrier.open", "ann", phase="b-1", roster=["m1", "m2", "m3"], timeout_seconds=60, fallback="escalate")
        (accepted,) = await wire.ask(opening)
        assert accepted["type"] == "barrier.accepted"
        checkin = say("barrier.checkin", "m2", phase="b-1", note="ready")
        (waiting,) = await wire.ask(checkin)
        assert (waiting["type"], waiting["arrived"], waiting["missing"]) == ("barrier.waiting", ["m2"], ["m1", "m3"])
        assert (await wire.ask(checkin))[0] == waiting
        await wire.ask(say("barrier.leave", "m3", phase="b-1"))
        _, released = await wire.ask(say("barrier.checkin", "m1", phase="b-1"))
        assert (released["type"], released["arrived"], released["dropped"]) == ("barrier.released", ["m2", "m1"], ["m3"])
        assert (released["arrived_count"], released["missing_count"], released["dropped_count"]) == (2, 0, 1)

    asyncio.run(run())


def test_both_by_signals_alone():
    async def run():
        client = await connect()
        wire = proposal(client, "py-decides", "p-2")
        terms = {"question": "Go?", "options": ["go", "stay"], "voters": ["v1"], "quorum": 1, "deadline_seconds": 60}
        await wire.signal(say("decision.propose", "ann", proposal_id="p-2", **terms))
        vote = say("decision.vote", "v1", proposal_id="p-2", choice="go")
        await wire.signal(vote)
        voted = await wire.until(["v1"], lambda e: e.get("in_reply_to") == vote["id"])
        assert (voted["type"], voted["tally"]) == ("decision.voted", {"go": 1, "stay": 0})
        commit = await wire.until([], lambda e: e["type"] == "decision.commit")
        assert commit["votes"] == {"v1": "go"}

        wire = barrier(client, "py-meets", "b-2")
        await wire.signal(say("barrier.open", "ann", phase="b-2", roster=["m1", "m2"], timeout_seconds=60, fallback="fail"))
        checkin = say("barrier.checkin", "m1", phase="b-2")
        await wire.signal(checkin)
        waiting = await wire.until(["m1"], lambda e: e.get("in_reply_to") == checkin["id"])
        assert (waiting["type"], waiting["missing"]) == ("barrier.waiting", ["m2"])
        await wire.signal(say("barrier.checkin", "zed", phase="b-2"))
        refused = await wire.until(["zed"], lambda e: e["type"] == "error")
        assert (refused["code"], refused["to"]) == ("not_eligible", "zed")
        await wire.signal(say("barrier.checkin", "m2", phase="b-2"))
        released = await wire.until([], lambda e: e["type"] == "barrier.released")
        assert released["arrived"] == ["m1", "m2"]

    asyncio.run(run())
