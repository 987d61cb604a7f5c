//! The packages of `python_cases`.
use super::python_cases::Case;

pub const CASES: &[Case] = &[
    // What is imported to be handed on must be there.
    (
        "pass",
        &[
            ("pkg/__init__.py", "from .a import f"),
            ("pkg/a.py", "def f(): pass"),
            ("i.py", "from pkg import f"),
        ],
    ),
    (
        "fail g",
        &[
            ("pkg/__init__.py", "from .a import g"),
            ("pkg/a.py", "def f(): pass"),
            ("i.py", "from pkg import g"),
        ],
    ),
    (
        "fail run",
        &[
            ("pkg/__init__.py", "from .api import run"),
            ("pkg/api.py", "from .core import run"),
            ("pkg/core.py", "def start(): pass"),
            ("i.py", "from pkg import run"),
        ],
    ),
    ("fail f", &[("pkg/__init__.py", "from .gone import f"), ("i.py", "from pkg import f")]),
    ("unknown", &[("pkg/__init__.py", "from ._speedups import f"), ("i.py", "from pkg import f")]),
    (
        "fail g",
        &[
            ("pkg/__init__.py", "from pkg.a import g"),
            ("pkg/a.py", "def f(): pass"),
            ("i.py", "from pkg import g"),
        ],
    ),
    ("pass", &[("m.py", "from collections import OrderedDict"), ("i.py", "from m import OrderedDict")]),
    (
        "pass",
        &[
            ("pkg/a.py", "from types import ModuleType"),
            ("pkg/__init__.py", ""),
            ("pkg/types.py", ""),
            ("i.py", "from pkg.a import ModuleType"),
        ],
    ),
    (
        "pass",
        &[
            ("m.py", "try:\n  from fast import f\nexcept ImportError:\n  def f(): pass"),
            ("i.py", "from m import f"),
        ],
    ),
    (
        "unknown",
        &[
            ("pkg/__init__.py", "try:\n  from .a import g\nexcept ImportError:\n  pass"),
            ("pkg/a.py", "def f(): pass"),
            ("i.py", "from pkg import g"),
        ],
    ),
    ("pass", &[("pkg/__init__.py", "from . import b"), ("pkg/b.py", ""), ("i.py", "from pkg import b")]),
    // Whatever binds __getattr__ makes names.
    (
        "unknown",
        &[
            (
                "m.py",
                "def attach():\n    return (lambda n: 1), list, []\n__getattr__, __dir__, __all__ = attach()",
            ),
            ("i.py", "from m import whatever"),
        ],
    ),
    (
        "unknown",
        &[("m.py", "def mk(): return lambda n: 1\n__getattr__ = mk()"), ("i.py", "from m import whatever")],
    ),
    (
        "unknown",
        &[
            ("m.py", "from k import __getattr__"),
            ("k.py", "def __getattr__(n): return 1"),
            ("i.py", "from m import whatever"),
        ],
    ),
    (
        "unknown",
        &[
            ("m.py", "import enum\n@enum.global_enum\nclass C(enum.Enum):\n  RED=1"),
            ("i.py", "from m import RED"),
        ],
    ),
    // A stub declares.
    ("pass", &[("m.pyi", "x: int\ndef f() -> int: ..."), ("i.py", "from m import x, f")]),
    ("fail x", &[("m.py", "x: int"), ("i.py", "from m import x")]),
    // What may be missing where it is asked for.
    (
        "unknown",
        &[
            ("m.py", "y=1"),
            ("i.py", "try:\n  from m import x\nexcept ImportError:\n  x=None\nfrom m import y"),
        ],
    ),
    ("unknown", &[("m.py", "y=1"), ("i.py", "import m\ntry:\n  m.x\nexcept AttributeError: pass")]),
    ("unknown", &[("m.py", "y=1"), ("i.py", "import m\nm.x=1\nprint(m.x)")]),
    ("pass", &[("m.py", "import m\nm.x=1"), ("i.py", "from m import x")]),
    // A package's own value in place of its module.
    (
        "unknown",
        &[("pkg/b.py", "def f(): pass"), ("pkg/__init__.py", "b=5"), ("i.py", "from pkg import b\nb.real")],
    ),
    (
        "unknown",
        &[("m.py", "x=1"), ("n.py", "class m: zz=1"), ("i.py", "import m\nm\nfrom n import *\nm.zz")],
    ),
    (
        "pass",
        &[
            ("m.py", "x:int=1"),
            ("i.py", "import m\nm.__annotations__, m.__setattr__, m.__getattribute__, m.__file__"),
        ],
    ),
    // What `import *` gives, and what it does not.
    ("pass", &[("m.py", "x=1"), ("i.py", "from m import *\nprint(x)")]),
    ("fail zz", &[("m.py", "x=1"), ("i.py", "from m import *\nprint(zz)")]),
    ("fail z", &[("m.py", "__all__=['x']\nx=1\nz=2"), ("i.py", "from m import *\nprint(z)")]),
    ("unknown", &[("m.py", "__all__=[n for n in ()]\nx=1"), ("i.py", "from m import *\nx")]),
    ("pass", &[("m.py", "x=1"), ("n.py", "z=1"), ("i.py", "from m import *\nfrom n import *\nx, z, len")]),
    // A module that nothing loads is no attribute of its package.
    ("unknown", &[("pkg/__init__.py", ""), ("pkg/b.py", "def f(): pass"), ("i.py", "import pkg\npkg.b.f()")]),
    (
        "pass",
        &[
            ("pkg/__init__.py", "from .a import f"),
            ("pkg/a.py", "def f(): pass"),
            ("i.py", "import pkg\npkg.a.f()"),
        ],
    ),
    // What is deleted, or made later.
    ("fail x", &[("m.py", "x=1\ny=2\ndel (x,y)"), ("i.py", "from m import x")]),
    ("unknown", &[("m.py", "x=1\nfor i in [1]:\n  del x"), ("i.py", "from m import x")]),
    ("unknown", &[("m.py", "def f():\n  global z\n  z=1\n"), ("i.py", "from m import z")]),
    ("pass", &[("m.py", "def f():\n  global z\n  z=1\nf()"), ("i.py", "from m import z")]),
    ("pass", &[("m.py", "class A:\n  global q\n  q=1"), ("i.py", "from m import q")]),
    ("fail x", &[("m.py", "if False:\n  x=1"), ("i.py", "from m import x")]),
];
