"""The front door: commands, terminal chat, rendering."""
