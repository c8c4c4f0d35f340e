"""The integrations under the names that users import; they are in pgmem/features/integrations."""
