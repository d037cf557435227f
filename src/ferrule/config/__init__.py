"""What the operator wrote, validated: tables, loader, edits, migrations, paths of the home."""
