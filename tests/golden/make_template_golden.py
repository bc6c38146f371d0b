"""Writes template_cases.json and template_models.json: what Python Jinja2 makes of chat templates.

    pip install jinja2==3.1.6
    MINFER_TEST_DATA=... python3 make_template_golden.py

template_cases.json    templates of our own (template_sources.py), their variables and renderings
template_models.json   conversations and what the published templates of Qwen3 and Qwen2.5 make of
                       them; the templates themselves stay in MINFER_TEST_DATA
A case without "expected" is one that Jinja2 ends with an error ("raised" holds the text of
raise_exception), or prints a memory address for.
"""

import datetime
import json
import os
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

from template_sources import CASES, CONVERSATIONS, DATA

assert jinja2.__version__ == "3.1.6", "the goldens are pinned to Jinja2 3.1.6"
HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(str(message))


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    # As Hugging Face transformers sets it up.
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(source, variables):
    try:
        out = environment().from_string(source).render(**variables)
        return {"python_error": "an address"} if " at 0x" in out else {"expected": out}
    except Raised as e:
        return {"raised": str(e)}
    except Exception as e:  # every other failure of a template is just a failure
        return {"python_error": f"{type(e).__name__}: {e}"[:120]}


def lines(data):
    return ",\n".join(json.dumps(d, ensure_ascii=True) for d in data)


def write(name, text):
    (HERE / name).write_text(text)
    print(name, len(text), "bytes")


assert all(variables == DATA for _, variables in CASES)
cases = [{"source": source, **render(source, DATA)} for source, _ in CASES]


def unicode_hash():
    """FNV-1a over what str says of characters, so that one number checks the tables: all of the two
    planes that have letters and marks, one in 64 of the others."""
    h = 0xCBF29CE484222325
    for c in map(chr, (p for p in range(0x110000) if not 0xD800 <= p <= 0xDFFF and (p < 0x20000 or p % 64 == 0))):
        for byte in (c.upper() + c.lower() + c.title() + c.capitalize() + "01"[c.isprintable()] + "01"[c.isspace()]).encode():
            h = ((h ^ byte) * 0x100000001B3) % 2**64
    return h


write("template_cases.json", '{"unicode_hash": "' + str(unicode_hash()) + '", "variables": ' + json.dumps(DATA) + ',\n"cases": [\n' + lines(cases) + "\n]}\n")

data = pathlib.Path(os.environ["MINFER_TEST_DATA"])
models = []
for model in ("qwen3", "qwen2.5"):
    source = json.loads((data / f"{model}-tokenizer" / "tokenizer_config.json").read_text())["chat_template"]
    for name, variables in CONVERSATIONS.items():
        models.append({"model": model, "name": name, "variables": variables, **render(source, variables)})
write("template_models.json", "[\n" + lines(models) + "\n]\n")
