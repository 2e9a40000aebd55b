from dataclasses import dataclass as record
from dataclasses import field, replace

__all__ = ["field", "record", "replace"]
