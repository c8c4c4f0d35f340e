"""The MCP server: tools, resources and prompts over stdio or HTTP. A tool is a method of `Memory`."""
