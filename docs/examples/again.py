import asyncio

from pgmem import Memory

TITLES = (
    "keep the orders in postgresql 17",  # the same words
    "Keep the orders in PostgreSQL 18",  # five of seven words: it takes the place of the first
    "Keep the invoices in PostgreSQL",  # four of seven: a person decides
    "Cache product pages for an hour",  # new
)


async def main() -> None:
    async with Memory.connect() as memory:
        for title in TITLES:
            result = await memory.save_decision(title, "One system for all.", "shop")
            print(f"{result.status:7}{result.dedup_outcome:15}{title}")


asyncio.run(main())
