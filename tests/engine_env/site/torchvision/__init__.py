"""Import-only stand-in for torchvision.

Text-only SGLang imports torchvision names but never calls them; the wheel on PyPI cannot load beside a CPU
torch. Any submodule imports, any attribute resolves to a callable that raises when called.
"""

import enum
import importlib.abc
import importlib.machinery
import sys
import types

__version__ = "0.0.0+stub"
__path__ = []
_MODES = ("NEAREST", "NEAREST_EXACT", "BILINEAR", "BICUBIC", "BOX", "HAMMING", "LANCZOS")
_ENUMS = {
    "InterpolationMode": enum.Enum("InterpolationMode", {m: m.lower().replace("_", "-") for m in _MODES}),
    "ImageReadMode": enum.Enum(
        "ImageReadMode", {m: i for i, m in enumerate(("UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA"))}
    ),
}


class _Module(types.ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _ENUMS:
            return _ENUMS[name]

        def missing(*_a, **_k):
            raise NotImplementedError(f"{self.__name__}.{name}: torchvision is a stub here")

        return missing


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith("torchvision."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(_Finder())
