//! What a template adds around the ids of a text or a pair.
