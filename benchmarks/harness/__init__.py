"""Harness of the encoding benchmark: cases, texts, engines, worker processes, comparison and report."""
