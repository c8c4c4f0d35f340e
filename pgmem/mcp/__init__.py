"""The MCP server: one file per group of tools, resources, prompts. A tool is one method of `Memory`."""
