"""Work that goes on beside the calls: vectors, extraction, upkeep, export and import."""
