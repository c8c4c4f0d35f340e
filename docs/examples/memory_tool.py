from pgmem.integrations.anthropic import MemoryTool
from pgmem.sync import Memory

with Memory.connect() as memory:
    tool = MemoryTool(memory)
    # A call of the model; Anthropic's tool runner calls the tool in the same way:
    # client.beta.messages.tool_runner(model=…, messages=…, tools=[tool])
    tool.call({"command": "create", "path": "/memories/tea.md", "file_text": "Green tea\n"})
    tool.call({"command": "str_replace", "path": "/memories/tea.md", "old_str": "Green", "new_str": "White"})
    tool.call({"command": "delete", "path": "/memories/tea.md"})
    for version in memory.memory_history("File", "/memories/tea.md").versions:
        print(version.version, version.status, repr(version.properties["text"]))
    memory.revert("File", "/memories/tea.md", 2)
    print(tool.call({"command": "view", "path": "/memories/tea.md"}))
