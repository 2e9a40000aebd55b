"""Adapters of the engines. Each imports only the standard library, numpy and its engine."""
