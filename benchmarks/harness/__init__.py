"""The encoding benchmark behind encoding.py: what is measured, on what, by whom, and what is said of it."""
