import asyncio

from pgmem import Memory

CACHED = "Cache product pages for an hour"
NEVER = "Never cache anything with a price"


async def main() -> None:
    async with Memory.connect() as memory:
        await memory.save_decision(NEVER, "Prices change at any time.", "shop")
        await memory.relate("Decision", CACHED, "CONFLICTS_WITH", "Decision", NEVER, "shop")
        bundle = await memory.retrieve_context("shop", "project", categories=["Decision"])
        print(bundle.retrieval_status)
        for item in [*bundle.standing, *bundle.items]:
            print("-", item.title)
        print(bundle.next_step)


asyncio.run(main())
