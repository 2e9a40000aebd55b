"""Answers to the exercises that the lessons themselves do not answer."""
