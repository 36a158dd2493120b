"""The echo workload with a Python library: URL, bytes of a message, messages, and how many are under way at a time.

    python3 websocket_client.py websockets|aiohttp URL SIZE COUNT IN_FLIGHT

Without compression, as the server takes none; with the libraries' own loop and settings otherwise.
"""

import asyncio
import json
import sys
import time


async def main(library, url, size, count, in_flight):
    message = bytes(size)
    async with CONNECTIONS[library](url) as (send, receive):
        began = time.monotonic()
        started = min(in_flight, count)
        for _ in range(started):
            await send(message)
        good = 0
        for _ in range(count):
            good += len(await receive()) == size
            if started < count:
                started += 1
                await send(message)
        seconds = time.monotonic() - began
    print(json.dumps({"seconds": seconds, "requests": good, "bytes": good * size}))


class Websockets:
    def __init__(self, url):
        import websockets

        self.connecting = websockets.connect(url, compression=None, max_size=1 << 24)

    async def __aenter__(self):
        connection = await self.connecting.__aenter__()
        return connection.send, connection.recv

    async def __aexit__(self, *error):
        await self.connecting.__aexit__(*error)


class AioHTTP:
    def __init__(self, url):
        self.url = url

    async def __aenter__(self):
        import aiohttp

        self.session = aiohttp.ClientSession()
        self.connection = await self.session.ws_connect(self.url, max_msg_size=1 << 24)
        return self.connection.send_bytes, self.connection.receive_bytes

    async def __aexit__(self, *_):
        await self.connection.close()
        await self.session.close()


CONNECTIONS = {"websockets": Websockets, "aiohttp": AioHTTP}

asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
