"""CPython as the judge. Reads a JSON list of questions, writes the list of answers.

{ask: "syntax", hex}                 does it compile?
{ask: "names", module, names}        can these names be imported from it?
{ask: "runs", root, module}          does it run as a program, with this folder's modules?
"""
import contextlib, importlib, io, json, os, subprocess, sys, warnings

warnings.simplefilter("ignore")


def compiles(question):
    try:
        compile(bytes.fromhex(question["hex"]), "judged", "exec", dont_inherit=True)
        return True
    except (SyntaxError, ValueError):
        return False
    except (RecursionError, MemoryError):
        return "not judged: too deep"


def importable(question):
    try:
        module = importlib.import_module(question["module"])
        for name in question["names"]:
            if not hasattr(module, name):
                importlib.import_module(question["module"] + "." + name)
        return True
    except ModuleNotFoundError as error:
        wanted = [question["module"] + "." + name for name in question["names"]]
        return False if error.name in wanted or "not a package" in str(error) else f"not judged: {error}"
    except BaseException as error:
        return f"not judged: {error!r}"


def runs(question):
    script = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_module(sys.argv[2], run_name='__main__')"
    command = [sys.executable, "-I", "-S", "-B", "-c", script, question["root"], question["module"]]
    return subprocess.run(command, capture_output=True).returncode == 0


ASKED = {"syntax": compiles, "names": importable, "runs": runs}
answers = []
out = os.dup(1)
os.dup2(2, 1)
with contextlib.redirect_stdout(io.StringIO()):
    for question in json.load(sys.stdin):
        answers.append(ASKED[question["ask"]](question))
os.write(out, json.dumps(answers).encode())
os._exit(0)
