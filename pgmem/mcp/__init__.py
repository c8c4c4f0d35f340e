"""The MCP server: tools, resources and prompts over stdio or HTTP. A tool is a method of `Memory`."""

from contextlib import suppress

with suppress(ImportError, AttributeError):  # a private module of the SDK, which another release may not have
    # It has a class for each message of each protocol, 300 in all, of which a session uses a few: pydantic prepares one
    # when it is used, since all together take a tenth of the time until the first answer.
    from mcp_types import _wire_base

    _wire_base.WireModel.model_config["defer_build"] = True
