"""Integrations: each implements the interface of another system over the verbs, and is an extra of the package."""
