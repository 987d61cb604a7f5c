"""CPython as the judge. Reads a JSON list of questions, writes the list of answers.

{ask: "syntax", hex}                 does it compile?
{ask: "names", module, names}        can these names be imported from it?
"""
import contextlib, importlib, io, json, os, sys, warnings

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


answers = []
out = os.dup(1)
os.dup2(2, 1)
with contextlib.redirect_stdout(io.StringIO()):
    for question in json.load(sys.stdin):
        answers.append(compiles(question) if question["ask"] == "syntax" else importable(question))
os.write(out, json.dumps(answers).encode())
os._exit(0)
