import asyncio

from psycopg import AsyncConnection

from pgmem import Memory


async def main() -> None:
    async with Memory.connect() as store, await AsyncConnection.connect(store.dsn) as connection:
        await connection.execute("create table if not exists invoice (number int primary key, total numeric)")
        async with connection.transaction():
            await connection.execute("insert into invoice values (1, 99.50) on conflict do nothing")
            memory = Memory.on(connection)
            await memory.save_session("Write the first invoice", "billing")
            result = await memory.upsert_entity("Invoice 1", "Written for 99.50", "billing")
            print(result.status)
        # Both are committed now, or neither is.


asyncio.run(main())
