"""A WebSocket server of another library, which sends back what comes: run by the checks, with their Python.

    python3 echo_server.py websockets|aiohttp PORT
"""

import asyncio
import sys

LIMIT = 1 << 27


async def with_websockets(port):
    import websockets

    async def handle(connection):
        try:
            async for message in connection:
                await connection.send(message)
        except websockets.ConnectionClosed:
            pass

    async with websockets.serve(handle, "127.0.0.1", port, max_size=LIMIT, ping_interval=None):
        await asyncio.Future()


async def with_aiohttp(port):
    from aiohttp import WSMsgType, web

    async def handle(request):
        response = web.WebSocketResponse(max_msg_size=LIMIT)
        await response.prepare(request)
        async for message in response:
            if message.type == WSMsgType.TEXT:
                await response.send_str(message.data)
            elif message.type == WSMsgType.BINARY:
                await response.send_bytes(message.data)
        return response

    application = web.Application()
    application.router.add_get("/", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Future()


asyncio.run({"websockets": with_websockets, "aiohttp": with_aiohttp}[sys.argv[1]](int(sys.argv[2])))
