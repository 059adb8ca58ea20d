"""Who sits at the terminal: by their user's name, by --as, and in which of several organizations."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.commands.session import SURFACE, person_for
from core.errors import ConfigError
from core.ids import OrgId
from core.people import Account, Organization, Person, Role
from core.roster import Add, Link, Remove, SetRoles
from core.testing import CountingIds, ManualClock, MemoryStore
from tests.contract.factories import NOW

BAKERY, SHOP = Organization(id=OrgId("o-1"), name="Bakery"), Organization(id=OrgId("o-2"), name="Shop")


@pytest.fixture
def app() -> Any:
    """An app over an empty store in memory; it is asked for nothing else."""
    return SimpleNamespace(store=MemoryStore(clock=ManualClock(NOW), ids=CountingIds()))


async def made(app: Any, organization: Organization, owner: str, user: str | None = None) -> Person:
    """The owner of a new organization, linked to a user of this terminal."""
    people = app.store.people
    person: Person = await people.create(organization, owner, organization.id, 60, actor="operator:root")
    if user is not None:
        await people.join(organization.id, Account(surface=SURFACE, ref=user))
    return person


async def refused(app: Any, user: str, as_: str | None) -> str:
    with pytest.raises(ConfigError) as told:
        await person_for(app, user, as_)
    return str(told.value)


async def test_the_first_user_of_all_founds_and_no_other(app: Any) -> None:
    ada = await person_for(app, "ada", None)
    assert (ada.name, ada.org) == ("ada", "local")
    assert await person_for(app, "ada", None) == await person_for(app, "eve", "ADA") == ada
    assert await refused(app, "eve", None) == (
        "eve is linked to nobody here; say who you are with --as NAME: ada"
    )


async def test_where_an_organization_was_created_nobody_founds(app: Any) -> None:
    await made(app, BAKERY, "Ada")
    assert "linked to nobody here" in await refused(app, "ada", None)
    assert len(await app.store.ledger.organizations()) == 1


async def test_in_several_organizations_a_person_is_said_with_theirs(app: Any) -> None:
    ada, other = await made(app, BAKERY, "Ada", "ada"), await made(app, SHOP, "Ada", "ada")
    eve = await made(app, Organization(id=OrgId("o-3"), name="Mill"), "Eve")
    which = "Ada@Bakery, Ada@Shop"
    for as_ in (None, "ada"):
        assert await refused(app, "ada", as_) == (
            f"ada is more than one person here; say which with --as: {which}"
        )
    assert await person_for(app, "ada", "ada@bakery") == await person_for(app, "x", "Ada@o-1") == ada
    assert await person_for(app, "ada", "Ada@Shop") == other
    assert await person_for(app, "ada", "Eve") == await person_for(app, "ada", "Eve@Mill") == eve
    assert await refused(app, "ada", "Evee@Mill") == (
        "nobody here is called Evee@Mill (did you mean Eve@Mill?); "
        "there are Ada@Bakery, Ada@Shop and Eve@Mill"
    )


async def test_who_left_is_nobody_at_the_terminal(app: Any) -> None:
    ada = await made(app, BAKERY, "Ada", "ada")
    people = app.store.people
    eve = (await people.save(ada, BAKERY.id, Add(name="Eve", roles=frozenset({Role.MEMBER})))).people[-1]
    await people.save(ada, BAKERY.id, Link(eve.id, Account(surface=SURFACE, ref="eve")))
    assert await person_for(app, "eve", None) == eve
    await people.save(ada, BAKERY.id, SetRoles(eve.id, ada.roles))
    await people.save(eve, BAKERY.id, Remove(ada.id))
    assert "nobody here is called Ada; there is Eve" == await refused(app, "eve", "Ada")
    assert "linked to nobody" in await refused(app, "ada", None)
