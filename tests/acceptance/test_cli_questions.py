"""What an agent asks and wants, answered at the terminal through the real command line."""

from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, command_line


@pytest.fixture
def bot(migrated_url: str, tmp_path: Path) -> CommandLine:
    return command_line(migrated_url, tmp_path).with_env(HOST_APP="tests.acceptance.asking:Asking")


@pytest.mark.rule("C11")
async def test_a_question_is_answered_at_the_terminal(bot: CommandLine) -> None:
    await bot.does("new", "paint it")
    worked = await bot.works()
    assert "Sam asks" in worked.out
    assert "Which colour?" in worked.out
    assert 'answer t-1.1 "…"' in worked.out
    assert await bot.refuses("approve", "t-1.1") == "a question can't be decided with approve"

    said = await bot.does("answer", "t-1.1", "the blue one")

    assert said.out == "t-1.1 answered by ada: the blue one. The agent is told.\n"
    await bot.works()
    story = (await bot.does("show", "t-1")).words
    assert "the blue one" in story
    assert "I painted it." in story


@pytest.mark.rule("C11")
@pytest.mark.parametrize(
    ("typed", "answer"), [("the blue one", "the blue one"), ("2", "blue"), ("w\n1", "red")]
)
async def test_a_line_typed_at_a_question_is_its_answer(tmp_path: Path, typed: str, answer: str) -> None:
    bot = command_line(f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", tmp_path)
    asking = bot.with_env(HOST_APP="tests.acceptance.asking:Asking")
    said = (await asking.does("chat", typed=f"paint it\n{typed}\n")).words
    assert f"t-1.1 answered by ada: {answer}. The agent is told." in said
    assert "I painted it." in said


@pytest.mark.rule("T5", "C7", "C8")
async def test_the_calls_of_a_round_are_shown_together_and_each_is_decided_by_itself(tmp_path: Path) -> None:
    bot = command_line(f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", tmp_path)
    noting = bot.with_env(HOST_APP="tests.acceptance.noting:Noting")
    typed = "write\ne\ndora\nDear\ncolleague\n.\nr\n"
    said = (await noting.does("chat", typed=typed)).words
    assert said.count("t-1, asked by ada: write") == 1
    assert said.count("[r] approve all 3") == 3
    edited = "to ada → dora, text Dear ⏎ friend → Dear ⏎ colleague"
    assert f"t-1.1 approved with changes by ada: {edited}. A worker runs it." in said
    for code in ("t-1.2", "t-1.3"):
        assert said.count(f"{code} approved by ada. A worker runs it.") == 1
    assert "I wrote to them." in said


@pytest.mark.rule("C12")
async def test_an_account_is_said_to_be_connected_at_the_terminal(bot: CommandLine, tmp_path: Path) -> None:
    bot = bot.with_env(HOST_APP="tests.acceptance.signing:Signing")
    await bot.does("new", "read it")
    assert (await bot.run("worker", "--until-idle")).status == 0  # it logs what the tool wants
    waits = await bot.does("pending")
    assert "Sam needs Mail for read_mail" in waits.out
    assert "Connect it at https://shop.test/connect/mail" in waits.words
    assert "connected t-1.1" in waits.out
    assert await bot.refuses("approve", "t-1.1") == "say that it is connected, or decline it"

    (tmp_path / "mailbox").touch()
    said = await bot.does("connected", "t-1.1")

    assert said.out == "t-1.1 connected by ada. The agent may make the call again.\n"
    assert "I read it." in (await bot.works()).words


@pytest.mark.rule("C22")
async def test_what_may_have_gone_out_is_looked_up_from_the_terminal(
    bot: CommandLine, tmp_path: Path
) -> None:
    bot = bot.with_env(HOST_APP="tests.acceptance.losing:Losing")
    await bot.does("new", "write to x")
    assert (await bot.run("worker", "--until-idle")).status == 0  # it logs what the tool raised
    assert "settle t-1.1 look-up" in (await bot.does("pending")).words
    looked = await bot.does("settle", "t-1.1", "look-up")
    assert looked.out == "t-1.1 can't be looked up now: it still may have gone out.\n"

    (tmp_path / "provider").touch()
    looked = await bot.does("settle", "t-1.1", "look-up")

    assert looked.out == "t-1.1 looked up by ada. It counts as done.\n"
    refused = await bot.refuses("settle", "t-1.1", "went-out")
    assert refused.startswith("ada had it looked up at ")
