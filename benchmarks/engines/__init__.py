"""One adapter per engine. Each imports only the standard library, numpy and its engine: it runs where that is."""
