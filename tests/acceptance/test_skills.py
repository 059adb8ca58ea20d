"""An agent reads its skills when it needs them, by name alone, on both databases."""

import pytest

from core.agents import Skill
from core.calls import Outcome
from core.tasks import TaskState
from core.testing import calls, says
from tests.acceptance.shop import Street, agent, results

REFUNDS = Skill(name="refunds", about="How refunds are made.", text="Look first.")
SORRY = Skill(name="apologies", about="How to say sorry.", text="Shortly.")
READER = agent(skills=(SORRY, REFUNDS))


async def test_a_skill_is_offered_in_the_system_prompt_and_read_on_demand(street: Street) -> None:
    shop = street.open([calls(("read_skill", {"name": "refunds"})), says("I see.")], sam=READER)
    task = await shop.ask()
    await shop.run()
    system = shop.model.requests[0].turns[0].text or ""
    assert system.endswith("\n- apologies: How to say sorry.\n- refunds: How refunds are made.")
    assert "Look first." not in str(shop.model.requests[0])
    assert "read_skill" in [spec.name for spec in shop.model.requests[0].tools]
    assert results(shop.model.requests[1])[0][1] == "Look first."
    assert (await shop.task(task)).state is TaskState.DONE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refund", "there is no skill refund, did you mean refunds? Skills: apologies, refunds."),
        (" Refunds", "did you mean refunds?"),
        ("zzz", "there is no skill zzz. Skills: apologies, refunds."),
        ("../sam/AGENT.md", "there is no skill ../sam/AGENT.md"),
        ("refunds/../refunds", "there is no skill refunds/../refunds"),
        ("/etc/passwd", "there is no skill /etc/passwd"),
        ("refunds\u0000", "Not run: "),
    ],
)
async def test_a_name_that_is_none_is_answered_with_the_near_one(
    street: Street, name: str, words: str
) -> None:
    shop = street.open([calls(("read_skill", {"name": name})), says("I see.")], sam=READER)
    task = await shop.ask()
    await shop.run()
    assert words in (results(shop.model.requests[1])[0][1] or "")
    assert (await shop.call(task)).outcome in (Outcome.FAILED, Outcome.REFUSED)


async def test_an_agent_without_skills_is_offered_none(street: Street) -> None:
    shop = street.open([calls(("read_skill", {"name": "refunds"})), says("I see.")])
    await shop.ask()
    await shop.run()
    assert shop.model.requests[0].turns[0].text == "You are Sam, who looks after orders."
    assert "read_skill" not in [spec.name for spec in shop.model.requests[0].tools]
    assert "There is no tool read_skill" in (results(shop.model.requests[1])[0][1] or "")
