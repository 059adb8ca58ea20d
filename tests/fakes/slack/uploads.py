"""files.*: an upload in three steps, as slack_sdk's ``files_upload_v2`` makes it."""

from aiohttp import web

from tests.fakes.slack.chat import share_files
from tests.fakes.slack.methods import decoded, method, required
from tests.fakes.slack.things import File, Json, Refused, Team
from tests.fakes.slack.world import World


@method("files.getUploadURLExternal", scope="files:write")
def get_upload_url(world: World, team: Team, args: Json) -> Json:
    """An address that takes the bytes of one file."""
    name, length = required(args, "filename", "length")
    if not length.isdigit() or length == "0":
        raise Refused("invalid_arguments")
    file = File(id=world.new_id("F"), name=name, size=int(length), user=team.bot_user_id)
    world.files[file.id] = file
    return {"file_id": file.id, "upload_url": f"{world.address}/upload/v1/{file.id}"}


@method("files.completeUploadExternal", scope="files:write")
def complete_upload(world: World, team: Team, args: Json) -> Json:
    """The files are there, and shared in a channel if one is named."""
    required(args, "files")
    given = decoded(args, "files", "invalid_arguments")
    if not isinstance(given, list) or not given or not all(isinstance(item, dict) for item in given):
        raise Refused("invalid_arguments")
    files = [_uploaded(world, str(item.get("id"))) for item in given]
    for file, item in zip(files, given, strict=True):
        file.complete, file.title = True, str(item.get("title") or file.name)
    targets = args.get("channel_id") or args.get("channels") or ""
    for channel_id in filter(None, str(targets).split(",")):
        text = str(args.get("initial_comment") or "")
        share_files(world, team, channel_id, files, text=text, thread_ts=args.get("thread_ts"))
    return {"files": [file.to_json() for file in files]}


async def receive(world: World, request: web.Request) -> web.Response:
    """The bytes of one file, as the whole body or in a form."""
    file = world.files.get(request.match_info["file"])
    if file is None or file.content is not None:
        return web.Response(status=404, text="no such upload")
    content = await _content(request)
    if len(content) != file.size:
        world.fault("upload", "length mismatch", f"{len(content)} bytes of {file.size} announced")
        return web.Response(status=400, text="length mismatch")
    file.content = content
    world.changed()
    return web.Response(text=f"OK - {len(content)}")


async def _content(request: web.Request) -> bytes:
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    form = await request.post()
    return b"".join(part.file.read() for part in form.values() if isinstance(part, web.FileField))


def _uploaded(world: World, file_id: str) -> File:
    file = world.files.get(file_id)
    if file is None or file.content is None or file.complete:
        raise Refused("file_not_found")
    return file
