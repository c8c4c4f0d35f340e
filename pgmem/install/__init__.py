"""Install and upgrade of a store: plan, migrations, chapters."""
