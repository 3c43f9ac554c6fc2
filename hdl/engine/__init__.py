"""The engine in hardware: a processor that runs netlists from memory."""

from trilut.hdl.engine.size import EngineSize
from trilut.hdl.engine.top import Engine
from trilut.hdl.engine.writing import write_engine

__all__ = ["Engine", "EngineSize", "write_engine"]
