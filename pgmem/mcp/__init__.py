"""The MCP server: tools, resources and prompts over stdio or HTTP. A tool is a method of `Memory`."""

from pydantic import BaseModel

# The SDK has a class for each message of each protocol, 300 in all, of which a session uses a few: pydantic prepares
# one when it is used, since all together take a tenth of the time until the first answer.
_usual = BaseModel.model_config
BaseModel.model_config = {**_usual, "defer_build": True}
try:
    import mcp.types  # noqa: F401
finally:
    BaseModel.model_config = _usual
