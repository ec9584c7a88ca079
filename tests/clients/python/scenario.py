"""One session of the official Python SDK with a `seam` server over stdio.

    scenario.py MODE ALLOWED_URL DENIED_URL -- COMMAND [ARGUMENT...]

MODE is how the SDK negotiates: `legacy` (the initialize handshake) or `auto` (discovery
first). Lists the tools, calls `run_js`, gets a denial, receives progress, cancels an
endless loop and calls again. Prints one JSON object with what it saw, for the test that
started it to judge; any exception ends it with a non-zero status.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters

# Longer than anything here takes on a busy machine: a hang fails instead of blocking.
PATIENCE_SECONDS = 120


async def main() -> None:
    mode, allowed, denied, separator, command, *arguments = sys.argv[1:]
    assert separator == "--", "usage: scenario.py MODE ALLOWED_URL DENIED_URL -- COMMAND..."
    server = StdioServerParameters(command=command, args=arguments)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with Client(server, mode=mode) as client:
            seen = await session(client, allowed, denied)
    print(json.dumps(seen))


async def session(client: Client, allowed: str, denied: str) -> dict:
    seen: dict = {"protocol": client.protocol_version}

    tools = (await client.list_tools()).tools
    seen["tools"] = [tool.name for tool in tools]
    seen["arguments"] = sorted(tools[0].input_schema["properties"])

    seen["sum"] = report(await run_js(client, "1 + 1"))
    seen["fetched"] = report(await run_js(client, f"const r = await fetch({json.dumps(allowed)}); r.status"))
    seen["denied"] = report(await run_js(client, f"await fetch({json.dumps(denied)})"))

    messages: list[str] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        messages.append(message or "")

    seen["progressed"] = report(await run_js(client, "console.log('halfway'); 'end'", progress))
    seen["progress"] = messages

    seen["cancelled"] = await cancel_endless_loop(client)
    seen["afterwards"] = report(await run_js(client, "'still ' + 'here'"))
    return seen


async def run_js(client: Client, code: str, progress=None):
    return await client.call_tool("run_js", {"code": code}, progress_callback=progress)


async def cancel_endless_loop(client: Client) -> bool:
    """Cancels once the script has said that it runs. Leaving the cancel scope makes the
    SDK send `notifications/cancelled` with the request's id."""
    with anyio.CancelScope() as scope:

        async def progress(_done: float, _total: float | None, message: str | None) -> None:
            if message and "looping" in message:
                scope.cancel()

        await run_js(client, "console.log('looping'); for (;;) {}", progress)
    return scope.cancelled_caught


def report(result) -> dict:
    return {
        "is_error": result.is_error,
        "structured": result.structured_content,
        "text": "\n".join(part.text for part in result.content if part.type == "text"),
    }


anyio.run(main)
