import asyncio

from pgmem import Memory


async def main() -> None:
    async with Memory.connect() as memory:
        await memory.save_session("Set up the shop", "shop", open_items=["Backups"])
        await memory.save_decision("Keep the orders in PostgreSQL 17", "One system for all.", "shop")
        for item in (await memory.retrieve_context("shop", "project")).items:
            print(item.label, "-", item.title)


asyncio.run(main())
