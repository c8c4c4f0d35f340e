import asyncio

from pgmem import Memory

FIRST = "Keep all the orders in PostgreSQL 17"
SAVES = (
    ("keep the orders in postgresql 17", None),  # the same words
    (FIRST, None),  # six of seven words: it takes the place of the first
    ("Keep the orders in PostgreSQL 18", FIRST),  # another number: the agent names what it replaces
    ("Hold all orders in PostgreSQL 18", None),  # four of eight words: a person decides
    ("Cache product pages for an hour", None),  # new
)


async def main() -> None:
    async with Memory.connect() as memory:
        for title, replaced in SAVES:
            result = await memory.save_decision(title, "One system for all.", "shop", supersedes=replaced)
            print(f"{result.status:7}{result.dedup_outcome:15}{title}")


asyncio.run(main())
