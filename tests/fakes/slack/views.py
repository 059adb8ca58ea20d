"""views.*: the modals a person has open, at most three on top of each other, and the homes."""

from tests.fakes.slack.limits import check_view
from tests.fakes.slack.methods import decoded, method, required
from tests.fakes.slack.things import Json, Refused, Team, Version, View
from tests.fakes.slack.world import MODALS, World


@method("views.open")
def open_view(world: World, team: Team, args: Json) -> Json:
    """The trigger's person looks at the modal, and at no other."""
    body = _given(args, "modal")
    trigger = world.use_trigger(required(args, "trigger_id")[0], team)
    view = new_view(world, team, trigger.user, body)
    world.modals[trigger.user] = [view]
    return {"view": view.to_json()}


@method("views.push")
def push_view(world: World, team: Team, args: Json) -> Json:
    """The modal lies on top of the one the trigger came from."""
    body = _given(args, "modal")
    trigger = world.use_trigger(required(args, "trigger_id")[0], team)
    if not trigger.modal or not world.modals.get(trigger.user):
        raise Refused("invalid_trigger_id")
    return {"view": push(world, team, trigger.user, body).to_json()}


@method("views.update")
def update_view(world: World, team: Team, args: Json) -> Json:
    """The view, open or published, reads anew; the person's entries stay where the inputs do."""
    body = _given(args, "modal", "home")
    if not args.get("view_id") and not args.get("external_id"):
        required(args, "view_id")
    try:
        view = world.view(view_id=args.get("view_id"), external_id=args.get("external_id"))
    except LookupError:
        raise Refused("not_found") from None
    if view.team is not team or view.type != body["type"]:
        raise Refused("not_found")
    _unless_changed(view, args)
    replace_view(world, view, body)
    return {"view": view.to_json()}


@method("views.publish")
def publish_view(world: World, team: Team, args: Json) -> Json:
    """The user's home reads so."""
    body = _given(args, "home")
    (user_id,) = required(args, "user_id")
    user = world.users.get(user_id)
    if user is None or user.team_id != team.id:
        raise Refused("user_not_found")
    home = world.homes.get(user_id)
    if home is None:
        world.homes[user_id] = home = new_view(world, team, user_id, body)
    else:
        _unless_changed(home, args)
        replace_view(world, home, body)
    return {"view": home.to_json()}


def new_view(world: World, team: Team, user_id: str, body: Json) -> View:
    """A view of *body* that is shown nowhere yet; its inputs hold their initial values."""
    view_id = world.new_id("V")
    view = View(
        id=view_id,
        user=user_id,
        team=team,
        body={key: value for key, value in body.items() if key != "blocks"},
        blocks=world.named(body["blocks"]),
        hash=world.new_ts(),
        root_id=view_id,
    )
    return view


def push(world: World, team: Team, user_id: str, body: Json) -> View:
    """The person looks at the modal, on top of the others. Raises Refused."""
    stack = world.modals[user_id]
    if len(stack) >= MODALS:
        raise Refused("push_limit_reached")
    view = new_view(world, team, user_id, body)
    view.root_id, view.previous_id = stack[0].id, stack[-1].id
    stack.append(view)
    return view


def replace_view(world: World, view: View, body: Json) -> None:
    """*view* reads as *body*; what was entered stays at the inputs that are still there, by their ids."""
    view.history.append(Version(text=view.title, blocks=view.blocks))
    view.body = {key: value for key, value in body.items() if key != "blocks"}
    view.blocks = world.named(body["blocks"])
    view.hash = world.new_ts()
    view.errors = {}


def _given(args: Json, *kinds: str) -> Json:
    required(args, "view")
    body: Json = decoded(args, "view", "invalid_arguments")
    check_view(body, *kinds)
    return body


def _unless_changed(view: View, args: Json) -> None:
    if args.get("hash") not in (None, view.hash):
        raise Refused("hash_conflict")
