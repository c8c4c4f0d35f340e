"""The feed of changes: following it, and what reads it: streams, webhooks, stores in step."""
