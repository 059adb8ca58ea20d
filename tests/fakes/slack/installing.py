"""auth.test, oauth.v2.access and apps.connections.open: whose token it is, and how the app gets one."""

from urllib.parse import quote

from tests.fakes.slack.methods import method, required
from tests.fakes.slack.things import Json, Refused, Team
from tests.fakes.slack.world import APP_ID, CLIENT_ID, CLIENT_SECRET, World


@method("auth.test")
def auth_test(world: World, team: Team, args: Json) -> Json:
    """Who the token is."""
    told: Json = {
        "url": f"https://{team.domain}.slack.com/",
        "team": team.name,
        "user": world.users[team.bot_user_id].name,
        "team_id": team.id,
        "user_id": team.bot_user_id,
        "bot_id": team.bot_id,
        "is_enterprise_install": team.is_enterprise_install,
    }
    return told | ({"enterprise_id": team.enterprise_id} if team.enterprise_id else {})


@method("oauth.v2.access", token="none")
def access(world: World, team: Team, args: Json) -> Json:
    """The code of a person's consent becomes the bot token of their workspace, once."""
    client_id, client_secret, code = required(args, "client_id", "client_secret", "code")
    if client_id != CLIENT_ID:
        raise Refused("invalid_client_id")
    if client_secret != CLIENT_SECRET:
        raise Refused("bad_client_secret")
    granted = world.codes.pop(code, None)
    if granted is None:
        raise Refused("invalid_code")
    into, user = granted
    told = {"id": into.enterprise_id, "name": f"{into.name} Inc"} if into.enterprise_id else None
    return {
        "app_id": APP_ID,
        "authed_user": {"id": user.id},
        "scope": ",".join(sorted(into.scopes)),
        "token_type": "bot",
        "access_token": into.bot_token,
        "bot_user_id": into.bot_user_id,
        "team": None if into.is_enterprise_install else {"id": into.id, "name": into.name},
        "enterprise": told,
        "is_enterprise_install": into.is_enterprise_install,
    }


@method("apps.connections.open", token="app")
def open_connection(world: World, team: Team, args: Json) -> Json:
    """The address of a web socket, good for one connection."""
    address = world.address.replace("http://", "ws://", 1)
    return {"url": f"{address}/link/?ticket={world.new_id('ticket-')}&app_id={quote(APP_ID)}"}
