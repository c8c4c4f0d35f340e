from pgmem.sync import Memory

with Memory.connect() as memory:
    memory.save_session("Set up the shop", "shop")
    memory.save_decision("Keep the orders in PostgreSQL 17", "One system for all.", "shop")
    for row in memory.search_memory("where are the orders?", project_id="shop", labels=["Decision"]).results:
        print(row.label, "-", row.title)
    print("tenants:", len(memory.admin.list_tenants()))
