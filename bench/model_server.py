"""A model over HTTP that answers at once: a few reads, then words. A process of its own, so that its work is
not counted as ours. Knows as much of HTTP as one client needs.
"""

import asyncio
import contextlib
import json
import sys

READ = {"name": "read_order", "arguments": '{"id": "A1"}'}


def answer(body: bytes, rounds: int) -> bytes:
    """The next reply of a conversation of so many rounds of one read each."""
    said = sum(message["role"] == "assistant" for message in json.loads(body)["messages"])
    last = said >= rounds
    arguments = json.dumps({"id": f"A{said}"})  # another each time: the same again would be a repetition
    asked = [{"id": f"c{said}", "type": "function", "function": {**READ, "arguments": arguments}}]
    message = {"role": "assistant", "content": "Open." if last else None, "tool_calls": [] if last else asked}
    finish = "stop" if last else "tool_calls"
    return json.dumps(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "bench",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    ).encode()


async def serve(rounds: int) -> None:
    """Answers until its input ends; the first line out is its address."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
                said = answer(await reader.readexactly(length), rounds)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(said), said)
                )
        writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=2**24)
    host, port = server.sockets[0].getsockname()
    sys.stdout.write(f"http://{host}:{port}/v1\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
